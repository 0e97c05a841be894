// What every client does with the server, whatever library it is made with.
import assert from "node:assert/strict";
import { until } from "./home.mjs";

const text = (r) => r.content.map((c) => c.text).join("\n");
const as = (who) => Object.fromEntries(Object.entries(who).map(([k, v]) => [`reverie/${k}`, v]));

// scenario drives a server through open(), which returns
//   client       with the methods of the SDK's Client
//   subscribe    (uri) => Promise
//   updates      the URIs that the server said have changed
//   close        () => Promise
export async function scenario(t, open) {
  const { client, subscribe, updates, close } = await open();
  const call = (name, args, meta) => client.callTool({ name, arguments: args, ...(meta && { _meta: meta }) });
  const ok = async (name, args, meta) => {
    const r = await call(name, args, meta);
    assert.notEqual(r.isError, true, `${name}: ${text(r)}`);
    assert.ok(r.structuredContent, `${name}: no structured result`);
    return r.structuredContent;
  };
  const refused = async (name, args, pattern, meta) => {
    const r = await call(name, args, meta);
    assert.equal(r.isError, true, `${name}(${JSON.stringify(args)}) was accepted`);
    assert.match(text(r), pattern);
  };
  const json = async (uri, meta) => JSON.parse((await client.readResource({ uri, ...(meta && { _meta: meta }) })).contents[0].text);

  await t.test("instructions", () => {
    assert.match(client.getInstructions(), /read_memory/);
    assert.equal(client.getServerVersion().name, "reverie");
  });

  await t.test("lists", async () => {
    const { tools } = await client.listTools();
    const names = tools.map((x) => x.name).sort();
    for (const n of ["write_memory", "read_memory", "update_memory", "delete_memory", "list_memory", "read_memo", "update_memo", "history", "restore"])
      assert.ok(names.includes(n), `${n} is missing from ${names}`);
    for (const tool of tools) {
      assert.ok(tool.title && tool.description && tool.outputSchema, tool.name);
      assert.equal(typeof tool.annotations.readOnlyHint, "boolean");
    }
    const { resources } = await client.listResources();
    const uris = resources.map((r) => r.uri);
    for (const u of ["memory://memo", "memory://memories", "memory://status"]) assert.ok(uris.includes(u), u);
    const { resourceTemplates } = await client.listResourceTemplates();
    assert.ok(resourceTemplates.some((r) => r.uriTemplate === "memory://memories/{id}"));
    const { prompts } = await client.listPrompts();
    for (const p of ["memory", "memory_context", "memory_guide"]) assert.ok(prompts.some((x) => x.name === p), p);
  });

  let id;
  await t.test("write_memory", async () => {
    const w = await ok("write_memory", { content: "Anna Lindqvist drinks oolong tea every morning", tags: ["tea", "people"], importance: "high" });
    assert.equal(w.status, "success");
    assert.match(w.id, /^[0-9a-f]{32}$/);
    id = w.id;
    const again = await ok("write_memory", { content: "Anna Lindqvist drinks oolong tea every morning" });
    assert.equal(again.duplicate_of, id);
    await ok("write_memory", { content: "张三喜欢喝龙井茶，每周二下棋", tags: null, importance: "", scope: "user" });
    await refused("write_memory", {}, /content is missing/);
    await refused("write_memory", { content: "x".repeat(8001) }, /8001 characters.*8000/);
    await refused("write_memory", { content: "x", importance: "urgent" }, /low, medium, high/);
    await refused("write_memory", { content: "x", user_id: "bob" }, /unknown argument "user_id"/);
    await refused("write_memory", { content: "x", tags: { $ne: 1 } }, /array of strings/);
    await refused("write_memory", { content: "x", scope: "group" }, /not in a group/);
    await refused("write_memory", { content: "\ud83d" }, /surrogate/);
  });

  await t.test("read_memory", async () => {
    const r = await ok("read_memory", { query: "what does Anna drink" });
    assert.equal(r.items[0].id, id);
    for (const key of ["content", "tags", "importance", "scope", "created_at", "updated_at", "distance", "score", "match"]) assert.ok(key in r.items[0], key);
    const zh = await ok("read_memory", { query: "张三喝什么茶" });
    assert.match(zh.items[0].content, /龙井/);
    assert.equal((await ok("read_memory", { query: "tea", tags: ["tea"], importance: "high", top_k: 1 })).items.length, 1);
    await ok("read_memory", { query: "?!…" });
    await refused("read_memory", { query: "x", top_k: "5" }, /whole number from 1 to 50, not the string "5"/);
    await refused("read_memory", { query: "x", top_k: 0 }, /from 1 to 50/);
  });

  await t.test("list_memory", async () => {
    const first = await ok("list_memory", { limit: 1 });
    assert.equal(first.items.length, 1);
    assert.equal(first.total, 2);
    const second = await ok("list_memory", { limit: 1, cursor: first.next_cursor });
    assert.notEqual(first.items[0].id, second.items[0].id);
    assert.equal(second.next_cursor, undefined);
    await refused("list_memory", { limit: 1000 }, /from 1 to 100/);
  });

  await t.test("update_memory, history", async () => {
    await ok("update_memory", { id, content: "Anna Lindqvist drinks green tea every morning" });
    await refused("update_memory", { id }, /give content, tags or importance/);
    await refused("update_memory", { id: "0".repeat(32), content: "x" }, /list_memory/);
    const h = await ok("history", { id });
    assert.equal(h.items[0].action, "update");
  });

  await t.test("delete_memory, restore", async () => {
    await ok("delete_memory", { id });
    await refused("delete_memory", { id }, /in the trash already/);
    assert.equal((await ok("restore", { id })).state, "live");
  });

  await t.test("memo", async () => {
    assert.equal((await ok("read_memo", {})).version, 0);
    const m = await ok("update_memo", { content: "I am Anna.", expected_version: 0 });
    assert.equal(m.version, 1);
    assert.equal((await ok("read_memo")).content, "I am Anna.");
    await refused("update_memo", { content: "x", expected_version: 0 }, /version 1, not 0/);
    await refused("update_memo", { content: "字".repeat(1001) }, /1001 characters; the limit is 1000/);
  });

  await t.test("identity", async () => {
    const bob = as({ user: "bob" });
    assert.equal((await ok("list_memory", {}, bob)).total, 0);
    const member = as({ user: "bob", group: "club", role: "member" });
    const admin = as({ user: "eve", group: "club", role: "admin" });
    const w = await ok("write_memory", { content: "the club meets on Mondays", scope: "group" }, member);
    await refused("delete_memory", { id: w.id, scope: "group" }, /only an admin or owner/, member);
    await ok("delete_memory", { id: w.id, scope: "group" }, admin);
    await refused("list_memory", {}, /must be a string/, { "reverie/user": 5 });
    await refused("list_memory", {}, /did you mean reverie\/user/, { "reverie/usr": "x" });
    assert.equal((await json("memory://memo", bob)).content, "");
  });

  await t.test("resources", async () => {
    assert.equal((await json("memory://memo")).content, "I am Anna.");
    const page = await json("memory://memories");
    assert.equal(page.total, 2);
    for (const item of page.items) assert.equal((await json(item.uri)).id, item.id);
    assert.ok(await json("memory://status"));
    await assert.rejects(client.readResource({ uri: `memory://memories/${"0".repeat(32)}` }), /no such memory/);
    await assert.rejects(client.readResource({ uri: "memory://nothing" }), /no such resource/);
  });

  await t.test("prompts", async () => {
    const context = await client.getPrompt({ name: "memory_context", arguments: { query: "what tea does Anna drink" } });
    assert.ok(context.messages.every((m) => m.role === "user"));
    assert.match(context.messages[0].content.text, /I am Anna\./);
    assert.match(context.messages[1].content.text, /green tea/);
    assert.match((await client.getPrompt({ name: "memory_guide" })).messages[0].content.text, /read_memory/);
    assert.match((await client.getPrompt({ name: "memory_guide", arguments: { language: "zh" } })).messages[0].content.text, /记忆/);
    const list = await client.getPrompt({ name: "memory", arguments: { scope: "user", action: "list" } });
    assert.match(list.messages[0].content.text, new RegExp(id));
    await assert.rejects(client.getPrompt({ name: "memory_context", arguments: { q: "x" } }), /unknown argument/);
    await assert.rejects(client.getPrompt({ name: "none" }), /unknown prompt/);
  });

  await t.test("completion", async () => {
    const byId = await client.complete({ ref: { type: "ref/resource", uri: "memory://memories/{id}" }, argument: { name: "id", value: id.slice(0, 6) } });
    assert.deepEqual(byId.completion.values, [id]);
    const byPrompt = await client.complete({ ref: { type: "ref/prompt", name: "memory" }, argument: { name: "action", value: "d" } });
    assert.deepEqual(byPrompt.completion.values, ["delete"]);
  });

  await t.test("subscription", async () => {
    for (const uri of ["memory://memo", `memory://memories/${id}`]) await subscribe(uri);
    await ok("update_memo", { content: "I am Anna, and I like tea." });
    await until("told of the memo", () => updates.includes("memory://memo"));
    updates.length = 0;
    await ok("update_memory", { id, tags: ["tea"] });
    await until("told of the memory", () => updates.includes(`memory://memories/${id}`));
    // Another process on the same home.
    updates.length = 0;
    const other = await open();
    const r = await other.client.callTool({ name: "update_memo", arguments: { content: "Written elsewhere." } });
    assert.notEqual(r.isError, true);
    await until("told of the other process", () => updates.includes("memory://memo"));
    assert.equal((await ok("read_memo")).content, "Written elsewhere.");
    await other.close();
  });

  await t.test("many calls at once", async () => {
    const ids = await Promise.all(Array.from({ length: 30 }, (_, i) => ok("write_memory", { content: `note ${i} of many` })));
    assert.equal(new Set(ids.map((w) => w.id)).size, 30);
    assert.equal((await ok("list_memory", {})).total, 32);
  });

  await t.test("close", close);
}
