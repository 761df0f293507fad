// The one thing that differs between the versions: where the client and its event schemas are.

import assert from "node:assert/strict";

import { EventSchemas } from "@ag-ui/core/schemas";

export { HttpAgent } from "@ag-ui/client";

/** Version 1.0 clients read it from RUN_STARTED. */
export const protocolVersion = "1.0";

/** Throws unless the official schema accepts the event as it is, with nothing left out of it. */
export function checkEvent(event) {
  assert.deepEqual(EventSchemas.parse(event), event);
}
