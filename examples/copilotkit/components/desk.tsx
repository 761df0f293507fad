"use client";

import { useState } from "react";

import { Conversation, type Way } from "./conversation";
import { useKept } from "./kept";
import { Orders } from "./orders";

const newThread = () => crypto.randomUUID();
const toWay = (kept?: string): Way => (kept === "tool" ? "tool" : "interrupt");

/** The page: the orders on one side, the conversation on the other. */
export function Desk() {
  // The conversation of this browser: the same one after a reload, until a new one is begun.
  const [thread, setThread] = useKept("order-desk.thread", newThread);
  const [kept, setAskedBy] = useKept("order-desk.asked-by", toWay);
  const [open, setOpen] = useState<number>();
  const askedBy = toWay(kept);
  const beginAnew = () => {
    setThread(newThread());
    setOpen(undefined);
  };
  return (
    <div className="desk">
      <header>
        <h1>Order desk</h1>
        <label title="How a request for permission or a question reaches this page">
          Asks by
          <select value={askedBy} onChange={({ target }) => setAskedBy(target.value)}>
            <option value="interrupt">interrupt</option>
            <option value="tool">tool call</option>
          </select>
        </label>
        <button onClick={beginAnew}>New chat</button>
      </header>
      <Orders open={open} onOpen={setOpen} />
      {thread && <Conversation key={thread} thread={thread} askedBy={askedBy} onOpen={setOpen} />}
    </div>
  );
}
