// Package redact keeps secrets out of what is stored and out of what a model sees.
//
// [Secrets] replaces keys, tokens, passwords and private keys by a mark such as "[redacted: github-token]";
// [StripPrivate] takes out what the author put between <private> and </private>. Both belong before the disk and
// before any model call; text should have passed package cleantext first, so that no invisible character
// interrupts a key.
//
// A secret is known by its own shape (a vendor's prefix, a PEM frame, a JSON web token), or by what stands before it
// ("password:", "Authorization: Bearer", 密码：). Without either, text that merely looks random is left alone: commit
// ids, UUIDs and digests are worth remembering. Values that documentation uses in place of a secret
// (AKIAIOSFODNN7EXAMPLE, sk-..., <your key>, ${TOKEN}, xxxx) are left alone too.
//
// The scanners are written by hand: one pass that looks only where a secret can begin is many times faster than
// two dozen regular expressions, and it is linear in the text. All functions are pure and may be called concurrently.
//
// Where to add: a vendor's key format is one line in vendor.go, one that has more to it a function in service.go; a word
// that announces a secret is one line in keyword.go; judge.go decides what is random enough and what is a stand-in.
package redact
