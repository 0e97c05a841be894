// The command line of the MCP Inspector: one process per call.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { newHome, server } from "./home.mjs";

const inspector = join(dirname(fileURLToPath(import.meta.url)), "../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");

function run(home, era, ...args) {
  const s = server(home);
  return new Promise((done) => {
    const p = spawn(process.execPath, [inspector, "--cli", "--transport", "stdio", "--protocol-era", era, ...args, "--", s.command, ...s.args], { env: s.env });
    let out = "", err = "";
    p.stdout.on("data", (d) => (out += d));
    p.stderr.on("data", (d) => (err += d));
    p.on("close", (code) => done({ code, out, err }));
  });
}

for (const era of ["legacy", "auto", "modern"]) {
  test(`inspector, ${era}`, async (t) => {
    const home = newHome(t);
    const ok = async (...args) => {
      const r = await run(home, era, ...args);
      assert.equal(r.code, 0, `${args.join(" ")}: ${r.out}${r.err}`);
      return JSON.parse(r.out);
    };
    await t.test("tools/list, strict", async () => {
      const r = await run(home, era, "--method", "tools/list", "--strict");
      assert.equal(r.code, 0, r.err);
      assert.equal(JSON.parse(r.out).tools.length, 9);
      assert.doesNotMatch(r.err, /error|warning/i);
    });
    let id;
    await t.test("tools/call", async () => {
      const w = await ok("--method", "tools/call", "--tool-name", "write_memory", "--tool-arg", "content=Anna drinks tea");
      id = (w.structuredContent ?? w.result?.structuredContent).id;
      assert.match(id, /^[0-9a-f]{32}$/);
      const bad = await run(home, era, "--method", "tools/call", "--tool-name", "read_memory", "--tool-arg", "query=x", "top_k=99");
      assert.equal(bad.code, 5, "the Inspector's code for a tool that reports an error");
      assert.match(bad.out, /from 1 to 50/);
    });
    await t.test("resources", async () => {
      assert.equal((await ok("--method", "resources/list")).resources.length, 3);
      assert.equal((await ok("--method", "resources/templates/list")).resourceTemplates.length, 2);
      for (const uri of ["memory://memo", "memory://memories", "memory://status", `memory://memories/${id}`]) {
        const r = await ok("--method", "resources/read", "--uri", uri);
        assert.equal(r.contents[0].uri, uri);
        if (era !== "legacy") break; // each call is a process of its own, and slow
      }
    });
    await t.test("prompts", async () => {
      assert.equal((await ok("--method", "prompts/list")).prompts.length, 3);
      for (const name of ["memory", "memory_context", "memory_guide"]) {
        const r = await ok("--method", "prompts/get", "--prompt-name", name);
        assert.ok(r.messages.length > 0);
        if (era !== "legacy") break;
      }
    });
  });
}
