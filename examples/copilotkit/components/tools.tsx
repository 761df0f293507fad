"use client";

import { useDefaultRenderTool, useFrontendTool } from "@copilotkit/react-core/v2";
import { z } from "zod";

import { ORDERS } from "./orders";
import { ToolCard } from "./tool-card";

interface Props {
  onOpen: (id: number) => void;
}

/** What the agent can do with this page, and how the calls of all its tools look in the chat. */
export function Tools({ onOpen }: Props) {
  useFrontendTool({
    name: "openRecord",
    description: "Opens an order in the page, so that the person sees it",
    parameters: z.object({ id: z.number().describe("The number of the order") }),
    handler: async ({ id }) => {
      // A model may send the number as text: arguments come as they were written.
      const order = ORDERS.find((one) => one.id === Number(id));
      if (order === undefined) return "there is no such order";
      onOpen(order.id);
      return order;
    },
    render: ToolCard,
  });
  useDefaultRenderTool({ render: ({ parameters, ...call }) => <ToolCard {...call} args={parameters} /> });
  return null;
}
