import type { NextConfig } from "next";

const config: NextConfig = {
  // They run on the server as they are installed, and are no part of what is built.
  serverExternalPackages: ["@copilotkit/runtime", "@ag-ui/client"],
};

export default config;
