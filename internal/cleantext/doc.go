// Package cleantext holds the rules for text that comes in from outside: what is refused, what is quietly
// removed, and how the refusal is worded.
//
// [Accept] is what most callers need: it refuses what cannot be text (invalid UTF-8, control characters),
// normalises line ends, removes characters that nobody sees but models read, and holds the length limit. Its parts,
// [Check] and [Clean], are there for callers that need only one of them. [LoneSurrogate] looks at raw JSON, before
// encoding/json has replaced the evidence.
//
// Text is expected to pass here first and then through packages fence and redact, which rely on marks and keys not
// being interrupted by invisible characters. What the text means is not judged here.
//
// All functions are pure, take time linear in the text, and may be called concurrently.
package cleantext
