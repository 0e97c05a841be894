// The SDK's successor, in both eras of the protocol.
import assert from "node:assert/strict";
import test from "node:test";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { newHome, server } from "./home.mjs";
import { scenario } from "./scenario.mjs";

for (const [name, mode, modern] of [
  ["legacy", "legacy", false],
  ["auto", "auto", true],
  ["pinned to 2026-07-28", { pin: "2026-07-28" }, true],
]) {
  test(`@modelcontextprotocol/client, ${name}`, async (t) => {
    const home = newHome(t);
    await scenario(t, async () => {
      const client = new Client({ name: "check", version: "1" }, { versionNegotiation: { mode } });
      const updates = [];
      const streams = [];
      client.setNotificationHandler("notifications/resources/updated", (n) => void updates.push(n.params.uri));
      client.onerror = (e) => console.error("client error:", e);
      await client.connect(new StdioClientTransport(server(home)));
      assert.equal(client.getProtocolEra(), modern ? "modern" : "legacy");
      return {
        client,
        updates,
        subscribe: async (uri) => {
          if (modern) streams.push(await client.listen({ resourceSubscriptions: [uri] }));
          else await client.subscribeResource({ uri });
        },
        close: async () => {
          for (const s of streams) await s.close();
          await client.close();
        },
      };
    });
  });
}
