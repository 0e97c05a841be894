// The official TypeScript SDK.
import test from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { newHome, server } from "./home.mjs";
import { scenario } from "./scenario.mjs";

test("@modelcontextprotocol/sdk", async (t) => {
  const home = newHome(t);
  await scenario(t, async () => {
    const client = new Client({ name: "check", version: "1" });
    const updates = [];
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => void updates.push(n.params.uri));
    client.onerror = (e) => console.error("client error:", e);
    await client.connect(new StdioClientTransport(server(home)));
    return { client, updates, subscribe: (uri) => client.subscribeResource({ uri }), close: () => client.close() };
  });
});
