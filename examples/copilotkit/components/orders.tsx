"use client";

import { useEffect, useRef } from "react";

/** What the page is about: a few orders, of which one is open. */
export interface Order {
  id: number;
  customer: string;
  items: string;
  total: string;
  state: "packed" | "shipped" | "waiting";
}

export const ORDERS: readonly Order[] = [
  { id: 40, customer: "Imre Vasa", items: "2 × walnut stool", total: "€ 178.00", state: "shipped" },
  { id: 41, customer: "Noor Haddad", items: "1 × reading lamp, 4 × bulb", total: "€ 96.40", state: "packed" },
  { id: 42, customer: "Tuva Lind", items: "1 × oak desk", total: "€ 640.00", state: "waiting" },
  { id: 43, customer: "Ravi Menon", items: "3 × shelf bracket", total: "€ 27.90", state: "shipped" },
];

interface Props {
  open: number | undefined;
  onOpen: (id: number) => void;
}

export function Orders({ open, onOpen }: Props) {
  const section = useRef<HTMLElement>(null);
  // Whoever opened it, the person sees it.
  useEffect(() => {
    section.current?.querySelector("[aria-current=true]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [open]);
  return (
    <section className="orders" aria-label="Orders" ref={section}>
      <h2>Orders</h2>
      <ul role="list">
        {ORDERS.map((order) => (
          <li key={order.id}>
            <button aria-current={order.id === open} onClick={() => onOpen(order.id)}>
              <span className="number">{order.id}</span>
              <span className="customer">{order.customer}</span>
              <span className={`state ${order.state}`}>{order.state}</span>
              {order.id === open && (
                <span className="detail">
                  {order.items}
                  <b>{order.total}</b>
                </span>
              )}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
