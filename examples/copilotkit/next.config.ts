import type { NextConfig } from "next";

/**
 * What an agent says is shown as Markdown. An image in it would be fetched from wherever it says, and so tell somebody
 * what the agent has read; and in a frame of another page people would approve what they do not see.
 */
const CONTENT_SECURITY = "img-src 'self' data: blob:; media-src 'self' data: blob:; frame-src 'self'; frame-ancestors 'none'";

const config: NextConfig = {
  // They are made to run from their packages, not from a bundle.
  serverExternalPackages: ["@copilotkit/runtime", "@ag-ui/client"],
  async headers() {
    return [{ source: "/:path*", headers: [{ key: "Content-Security-Policy", value: CONTENT_SECURITY }] }];
  },
};

export default config;
