// The one thing that differs between the versions: where the client and its event schemas are.

import { EventSchemas } from "@ag-ui/core";

export { HttpAgent } from "@ag-ui/client";

/** Clients before 1.0 declare no version and look for none. */
export const protocolVersion = undefined;

/** Throws unless the official schema of this version accepts the event. */
export function checkEvent(event) {
  EventSchemas.parse(event);
}
