package config

// key is a row of the table that everything else is made from.
type key struct {
	name string // as in config.toml, with its section: identity.user
	def  any    // int, string, bool or []string: also the type of the key

	min, max int      // bounds of an int; of a string, characters (max 0: see allowed)
	allowed  []string // the values of a string, or the elements of a list, if there is a choice
	check    func(string) error

	env  []string // environment variables, the preferred name first
	flag string   // flag that sets the key, "" if only config.toml and the environment do

	help, helpZH string
	field        func(*Config) any // pointer to where the value goes
}

// toolsets are the names of this version; "all" stands for all of them.
func toolsets() []string { return []string{"memory", "memo", "admin"} }

// keys is the table, in the order of the file. Keys without a section come first.
func keys() []key {
	return []key{
		{name: "short_term_expiry_days", def: 7, min: 1, max: 36500,
			help:   "days after its last use when a memory of low importance expires (see retrieval.expiry)",
			helpZH: "低重要性记忆在最后一次使用后多少天过期（见 retrieval.expiry）",
			field:  func(c *Config) any { return &c.ShortTermExpiryDays }},
		{name: "long_term_expiry_days", def: 90, min: 1, max: 36500,
			help:   "the same for memories of medium importance; those of high importance do not expire",
			helpZH: "中重要性记忆的过期天数；高重要性记忆不会过期",
			field:  func(c *Config) any { return &c.LongTermExpiryDays }},
		{name: "per_session_memory_limit", def: 50, min: 1, max: 100_000,
			help:   "memories that one person or one group may have",
			helpZH: "每个用户或每个群最多可有的记忆条数",
			field:  func(c *Config) any { return &c.PerSessionMemoryLimit }},
		{name: "memo_max_chars", def: 1000, min: 1, max: 100_000,
			help:   "characters of a memo, which is in view all the time and costs tokens in every request",
			helpZH: "备忘录的最大字符数；备忘录始终可见，每次请求都会消耗 token",
			field:  func(c *Config) any { return &c.MemoMaxChars }},

		{name: "identity.user", def: "local", min: 1, max: 128, check: checkID, env: []string{"REVERIE_USER"}, flag: "--user",
			help:   "id of the caller when the host does not say who is calling",
			helpZH: "宿主未说明调用者时使用的用户 id",
			field:  func(c *Config) any { return &c.Identity.User }},
		{name: "identity.group", def: "", max: 128, check: checkID, env: []string{"REVERIE_GROUP"}, flag: "--group",
			help:   "id of the group; empty in a private chat",
			helpZH: "群 id；私聊时为空",
			field:  func(c *Config) any { return &c.Identity.Group }},
		{name: "identity.role", def: "", allowed: []string{"", "member", "admin", "owner"}, env: []string{"REVERIE_ROLE"}, flag: "--role",
			help:   "role of the caller in the group; only admin and owner may change what belongs to the group",
			helpZH: "调用者在群中的角色；只有 admin 和 owner 可以修改群数据",
			field:  func(c *Config) any { return &c.Identity.Role }},
		{name: "identity.platform", def: "Local", min: 1, max: 32, check: checkPlatform, env: []string{"REVERIE_PLATFORM"}, flag: "--platform",
			help:   "name of the chat platform, the first part of partition keys: letters and digits",
			helpZH: "聊天平台名称，即分区键的第一部分：只含字母和数字",
			field:  func(c *Config) any { return &c.Identity.Platform }},
		{name: "identity.conversation", def: "", max: 128, check: checkID, env: []string{"REVERIE_CONVERSATION"},
			help:   "id of the conversation when the host does not give one",
			helpZH: "宿主未提供时使用的会话 id",
			field:  func(c *Config) any { return &c.Identity.Conversation }},

		{name: "retrieval.expiry", def: "off", allowed: []string{"off", "archive"},
			help:   "what happens to expired memories: nothing, or they are hidden and can be restored",
			helpZH: "记忆过期后的处理：off 不处理；archive 隐藏，可恢复",
			field:  func(c *Config) any { return &c.Retrieval.Expiry }},
		{name: "retrieval.cache_mb", def: 256, min: 8, max: 65536,
			help:   "MiB of memory for the search indexes of the people and groups last active",
			helpZH: "内存中检索索引缓存的大小（MiB）",
			field:  func(c *Config) any { return &c.Retrieval.CacheMB }},

		{name: "privacy.user_memories_in_groups", def: "allow", allowed: []string{"allow", "deny"},
			help:   "may the caller's own memories be read in a group; those written as private never are",
			helpZH: "在群聊中能否读取调用者自己的记忆；标为私密的记忆始终不能",
			field:  func(c *Config) any { return &c.Privacy.UserMemoriesInGroups }},
		{name: "privacy.redact_secrets", def: true,
			help:   "replace keys, tokens and passwords before anything is stored or shown to a model",
			helpZH: "在存储或交给模型之前，替换密钥、令牌和密码",
			field:  func(c *Config) any { return &c.Privacy.RedactSecrets }},

		{name: "storage.synchronous", def: "full", allowed: []string{"full", "normal"},
			help:   "what a power cut may cost: with full nothing; with normal, which is faster, the last writes",
			helpZH: "full：任何时刻断电都不丢数据；normal：更快，断电时可能丢失最后的写入",
			field:  func(c *Config) any { return &c.Storage.Synchronous }},
		{name: "storage.busy_timeout_ms", def: 10_000, min: 100, max: 600_000,
			help:   "milliseconds to wait for another process that is writing",
			helpZH: "等待其他进程写入的毫秒数",
			field:  func(c *Config) any { return &c.Storage.BusyTimeoutMS }},

		{name: "embedding.protocol", def: "builtin", allowed: []string{"builtin"},
			env:    []string{"EMBEDDING_PROTOCOL", "EMBEDDING_PROCTOL"},
			help:   "where vectors come from: builtin is the multilingual model inside the program",
			helpZH: "向量来源：builtin 为程序内置的多语言模型",
			field:  func(c *Config) any { return &c.Embedding.Protocol }},
		{name: "embedding.model_name", def: "auto", min: 1, max: 200, check: checkID, env: []string{"EMBEDDING_MODEL_NAME"},
			help:   "name of the embedding model; auto leaves the choice to the protocol",
			helpZH: "嵌入模型名称；auto 表示由协议自行选择",
			field:  func(c *Config) any { return &c.Embedding.ModelName }},

		{name: "toolsets.enabled", def: []string{"memory", "memo"}, allowed: append(toolsets(), "all"),
			env: []string{"REVERIE_TOOLSETS"}, flag: "--toolsets",
			help:   "groups of tools that clients see; in the variable and the flag separated by commas",
			helpZH: "客户端可见的工具组；在环境变量和命令行参数中用逗号分隔",
			field:  func(c *Config) any { return &c.Toolsets.Enabled }},

		{name: "log.level", def: "info", allowed: []string{"debug", "info", "warn", "error"}, env: []string{"REVERIE_LOG_LEVEL"}, flag: "--log-level",
			help:   "least important kind of message that goes to stderr; no level shows the text of memories",
			helpZH: "输出到 stderr 的最低日志级别；任何级别都不显示记忆正文",
			field:  func(c *Config) any { return &c.Log.Level }},
		{name: "log.format", def: "text", allowed: []string{"text", "json"}, env: []string{"REVERIE_LOG_FORMAT"},
			help:   "form of the messages",
			helpZH: "日志格式",
			field:  func(c *Config) any { return &c.Log.Format }},
	}
}
