package redact_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"reverie/internal/redact"
)

// Every key here is made up. Their parts are joined at run time, so that scanners of source code stay calm.
const (
	rnd20 = "aB3dE6gH9jK2mN5pQ8sT"
	rnd36 = "aB3dE6gH9jK2mN5pQ8sTuV4wX7yZ1bC0dF3G"
	rnd40 = "qZ3+7Jd/9Lk2Wm5Xc8Vb1Nh4Gt6Rf0Ds+Pe/Yu2A"
	hex40 = "3f786850e387550fdab836ed7e6dc881de23001b"
)

var pemKey = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEpQIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9Oi+/Y8pQm3lZrYtqk1n0sVbX2cD\n" +
	"u5Q8pWkz4TgB0n7yHc3RfLxVaJmE9iKoSd6CwGqPUtNZ1rYhFbXvMeAjDlIs2O8W\nk3Jq\n-----END RSA " + "PRIVATE KEY-----"

func TestSecrets(t *testing.T) {
	jwt := "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"
	for _, tt := range []struct {
		name, in, want string
		kinds          string // joined by a space
	}{
		{"openai", "use sk-" + rnd36 + " please", "use [redacted: openai-key] please", "openai-key"},
		{"openai project", "key sk-proj-" + rnd20 + "_" + rnd20 + ".", "key [redacted: openai-key].", "openai-key"},
		{"anthropic", "sk-ant-api03-" + rnd36, "[redacted: anthropic-key]", "anthropic-key"},
		{"aws id", "id AKIA" + "Q3EGRZV7WX2KL5MN,", "id [redacted: aws-access-key],", "aws-access-key"},
		{"aws session id", "ASIA" + "Q3EGRZV7WX2KL5MN", "[redacted: aws-access-key]", "aws-access-key"},
		{"aws pair", "AKIA" + "Q3EGRZV7WX2KL5MN\n" + rnd40, "[redacted: aws-access-key]\n[redacted: aws-secret-key]", "aws-access-key aws-secret-key"},
		{"aws secret", "aws_secret_access_key = " + rnd40, "aws_secret_access_key = [redacted: aws-secret-key]", "aws-secret-key"},
		{"aws secret in json", `{"SecretAccessKey": "` + rnd40 + `"}`, `{"SecretAccessKey": "[redacted: aws-secret-key]"}`, "aws-secret-key"},
		{"github", "ghp_" + rnd36, "[redacted: github-token]", "github-token"},
		{"github others", "gho_" + rnd36 + " ghu_" + rnd36 + " ghs_" + rnd36 + " ghr_" + rnd36,
			"[redacted: github-token] [redacted: github-token] [redacted: github-token] [redacted: github-token]", "github-token"},
		{"github fine-grained", "github_pat_11ABCDEFG0" + rnd20 + "_" + rnd36, "[redacted: github-token]", "github-token"},
		{"gitlab", "glpat-" + rnd20, "[redacted: gitlab-token]", "gitlab-token"},
		{"slack", "xoxb-" + "123456789012-" + rnd20, "[redacted: slack-token]", "slack-token"},
		{"google", "AIza" + "SyD3kF7-h2Lm9Qp4Rs6Tv8Wx1Yz0BcEfGj5", "[redacted: google-key]", "google-key"},
		{"stripe", "sk_live_" + rnd20 + "1234 rk_live_" + rnd20 + "1234", "[redacted: stripe-key] [redacted: stripe-key]", "stripe-key"},
		{"hugging face, letters only", "hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH", "[redacted: huggingface-token]", "huggingface-token"},
		{"npm", "npm_" + rnd36, "[redacted: npm-token]", "npm-token"},
		{"jwt", "got " + jwt + " back", "got [redacted: jwt] back", "jwt"},
		{"telegram", "bot 123456789:AA" + rnd36[:33], "bot [redacted: telegram-token]", "telegram-token"},
		{"sendgrid", "SG." + rnd36[:22] + "." + rnd36, "[redacted: sendgrid-key]", "sendgrid-key"},

		{"bearer", "Authorization: Bearer " + rnd36, "Authorization: Bearer [redacted: bearer-token]", "bearer-token"},
		{"bearer with a jwt", "authorization: bearer " + jwt, "authorization: bearer [redacted: jwt]", "jwt"},
		{"basic", "Authorization: Basic dXNlcjpodW50ZXIy", "Authorization: Basic [redacted: authorization]", "authorization"},
		{"header in curl", `curl -H "Authorization: token 9a8b7c6d5e4f"`, `curl -H "Authorization: token [redacted: authorization]"`, "authorization"},

		{"pem", "here:\n" + pemKey + "\nthanks", "here:\n[redacted: private-key]\nthanks", "private-key"},
		{"pem cut off", "here:\n" + pemKey[:150], "here:\n[redacted: private-key]", "private-key"},
		{"pem cut off, then text", pemKey[:153] + "\n(the rest is missing) hello", "[redacted: private-key]\n(the rest is missing) hello", "private-key"},
		{"pem in json", `{"k": "` + strings.ReplaceAll(pemKey, "\n", `\n`) + `"}`, `{"k": "[redacted: private-key]"}`, "private-key"},
		{"pem quoted", "> " + strings.ReplaceAll(pemKey, "\n", "\n> "), "> [redacted: private-key]", "private-key"},
		{"pem with headers", strings.Replace(pemKey, "KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,7A6B\n\n", 1), "[redacted: private-key]", "private-key"},
		{"two pems", pemKey + "\n" + pemKey, "[redacted: private-key]\n[redacted: private-key]", "private-key"},

		{"url", "postgres://app:s3cr3t!x@db:5432/x", "postgres://app:[redacted: url-password]@db:5432/x", "url-password"},
		{"url without user", "redis://:hunter2@cache", "redis://:[redacted: url-password]@cache", "url-password"},
		{"url with an at sign", "ftp://u:p@ss@host", "ftp://u:[redacted: url-password]@host", "url-password"},

		{"password", "password = hunter2", "password = [redacted: password]", "password"},
		{"passwd", "passwd:Tr0ub4dor&3", "passwd:[redacted: password]", "password"},
		{"environment", "export DB_PASSWORD=s3cr3tpw", "export DB_PASSWORD=[redacted: password]", "password"},
		{"json", `{"password":"a1b2c3d4","user":"bob"}`, `{"password":"[redacted: password]","user":"bob"}`, "password"},
		{"json in json", `{\"password\": \"a1b2c3d4\"}`, `{\"password\": \"[redacted: password]\"}`, "password"},
		{"camel case", `dbPass: 'k9!xQ2'`, `dbPass: '[redacted: password]'`, "password"},
		{"markdown", "**Password:** hunter2", "**Password:** [redacted: password]", "password"},
		{"sentence", "My password is hunter2, remember it", "My password is [redacted: password], remember it", "password"},
		{"flag", "mysql --password hunter2 -u root", "mysql --password [redacted: password] -u root", "password"},
		{"flag with a dash", "x --api-key 9f8e7d6c5b4a39281706", "x --api-key [redacted: api-key]", "api-key"},
		{"digits", "password: 19840512", "password: [redacted: password]", "password"},
		{"symbol", "password: p@ssword!", "password: [redacted: password]!", "password"},
		{"connection string", "Server=x;Password=abc123x;Database=y", "Server=x;Password=[redacted: password];Database=y", "password"},
		{"keyword arguments", "connect(user=a,password=abc123x,host=b)", "connect(user=a,password=[redacted: password],host=b)", "password"},
		{"query", "https://x.org/?token=abc123def456ghi&page=2", "https://x.org/?token=[redacted: token]&page=2", "token"},
		{"typed", `password: str = "hunter2x"`, `password: str = "[redacted: password]"`, "password"},
		{"api key", "api_key=9f8e7d6c5b4a39281706", "api_key=[redacted: api-key]", "api-key"},
		{"api key in words", "API key: 9f8e7d6c5b4a39281706", "API key: [redacted: api-key]", "api-key"},
		{"token", "token: 7hG3kL9mQ2xV5bN8", "token: [redacted: token]", "token"},
		{"token that is a uuid", "token: 550e8400-e29b-41d4-a716-446655440000", "token: [redacted: token]", "token"},
		{"client secret", "client_secret: 'dJ8~kQ2xV5bN8mW'", "client_secret: '[redacted: secret]'", "secret"},
		{"letters only", "secret=qWeRtZuIoPaSdFgHjK", "secret=[redacted: secret]", "secret"},
		{"vendor key wins", "OPENAI_API_KEY=sk-" + rnd36, "OPENAI_API_KEY=[redacted: openai-key]", "openai-key"},
		{"chinese", "我的密码：hunter2，别忘了", "我的密码：[redacted: password]，别忘了", "password"},
		{"chinese, half-width colon", "Wi-Fi密码: 12345678", "Wi-Fi密码: [redacted: password]", "password"},
		{"chinese sentence", "密码是abc12345。", "密码是[redacted: password]。", "password"},
		{"chinese key", "密钥＝9f8e7d6c5b4a3928", "密钥＝[redacted: api-key]", "api-key"},
		{"japanese", "パスワードはhunter2です", "パスワードは[redacted: password]です", "password"},
		{"slack webhook", "post to https://hooks.slack.com/services/T01ABCDEF/B02GHIJKL/" + rnd20 + "4uV7, thanks", "post to https://hooks.slack.com/services/[redacted: slack-webhook], thanks", "slack-webhook"},
		{"discord webhook", "https://discord.com/api/webhooks/123456789012345678/" + rnd36 + "-" + rnd20, "https://discord.com/api/webhooks/123456789012345678/[redacted: discord-webhook]", "discord-webhook"},
		{"discord webhook, old host and version", "https://canary.discordapp.com/api/v10/webhooks/123456789012345678/" + rnd36, "https://canary.discordapp.com/api/v10/webhooks/123456789012345678/[redacted: discord-webhook]", "discord-webhook"},
		{"discord bot", "bot MTIzNDU2Nzg5MDEyMzQ1Njc4" + ".GaB3dE." + rnd36 + "!", "bot [redacted: discord-token]!", "discord-token"},
		{"google access token", "ya29." + "a0Af_" + rnd36 + "-" + rnd20, "[redacted: google-token]", "google-token"},
		{"stripe test", "sk_test_" + rnd20 + " rk_test_" + rnd20, "[redacted: stripe-key] [redacted: stripe-key]", "stripe-key"},
		{"stripe webhook", "whsec_" + rnd36 + " whsec_" + "aB3dE6gH9jK2mN5pQ8sT+/V4wX7yZ1bC=", "[redacted: stripe-key] [redacted: stripe-key]", "stripe-key"},
		{"twilio key", "SK" + hex40[:32], "[redacted: twilio-key]", "twilio-key"},
		{"twilio account and token", "AC" + hex40[8:] + ", auth token " + hex40[:32] + ".", "[redacted: twilio-key], auth token [redacted: twilio-key].", "twilio-key"},
		{"twilio, as curl has it", "-u AC" + hex40[8:] + ":" + hex40[:32], "-u [redacted: twilio-key]:[redacted: twilio-key]", "twilio-key"},
		{"mailgun", "key-" + hex40[:32], "[redacted: mailgun-key]", "mailgun-key"},
		{"digitalocean", "dop_v1_" + hex40 + hex40[:24] + " doo_v1_" + hex40 + hex40[:24], "[redacted: digitalocean-token] [redacted: digitalocean-token]", "digitalocean-token"},
		{"shopify", "shpat_" + hex40[:32] + " shpss_" + hex40[:32], "[redacted: shopify-token] [redacted: shopify-token]", "shopify-token"},
		{"databricks", "dapi" + hex40[:32], "[redacted: databricks-token]", "databricks-token"},
		{"azure", "https://x.blob.core.windows.net/c/f?sv=2022-11-02&sp=r&sig=aB3dE6gH9jK2mN5pQ8sTuV4wX7yZ1bC0dF3Gh%2BJ5kL%2F8%3D&se=2030",
			"https://x.blob.core.windows.net/c/f?sv=2022-11-02&sp=r&sig=[redacted: azure-sas]&se=2030", "azure-sas"},
		{"age", "AGE-SECRET-KEY-1" + strings.ToUpper(rnd36+rnd20) + "Q7", "[redacted: age-key]", "age-key"},
		{"vault", "hvs." + "CAES" + rnd36, "[redacted: vault-token]", "vault-token"},
		{"notion", "ntn_" + rnd36 + "1234567890 secret_" + rnd36 + "aB3dE6g", "[redacted: notion-token] [redacted: notion-token]", "notion-token"},
		{"linear", "lin_api_" + rnd36 + "4uV7", "[redacted: linear-key]", "linear-key"},
		{"doppler", "dp.pt." + rnd36 + "4uV7", "[redacted: doppler-token]", "doppler-token"},
		{"gitea", "the gitea token " + hex40 + " expires", "the gitea token [redacted: token] expires", "token"},
		{"token in backticks", "use token `" + hex40 + "`", "use token `[redacted: token]`", "token"},
		{"cookie", "Cookie: theme=dark; sessionid=8f3k2j9d7s6a5q1w; lang=en-US", "Cookie: theme=dark; sessionid=[redacted: cookie]; lang=en-US", "cookie"},
		{"set-cookie", "set-cookie: sid=s%3A" + rnd36 + "; Path=/; HttpOnly; Expires=Wed, 21 Oct 2026 07:28:00 GMT\nnext", "set-cookie: sid=[redacted: cookie]; Path=/; HttpOnly; Expires=Wed, 21 Oct 2026 07:28:00 GMT\nnext", "cookie"},
		{"two cookies in curl", `curl -H 'Cookie: a=` + rnd36 + `; JSESSIONID=1A2B3C4D5E6F7081' x`, `curl -H 'Cookie: a=[redacted: cookie]; JSESSIONID=[redacted: cookie]' x`, "cookie"},
		{"cookie of letters", "Cookie: session=abcdefghijklmnop", "Cookie: session=[redacted: cookie]", "cookie"},
		{"cookie in json", `{"Cookie": "x.sid=38afes7a8; a=b"}`, `{"Cookie": "x.sid=[redacted: cookie]; a=b"}`, "cookie"},
		{"netrc of letters", "default login bob password qwertyuiop", "default login bob password [redacted: password]", "password"},
		{"korean sentence", "비밀번호는 hunter22", "비밀번호는 [redacted: password]", "password"},
		{"spanish without its tilde", "contrasena: hunter2", "contrasena: [redacted: password]", "password"},
		{"passphrase with a number", "passphrase:blue tall Horse runs 99", "passphrase:[redacted: password]", "password"},
		{"curl", "curl -s -u admin:hunter https://x.org/", "curl -s -u admin:[redacted: password] https://x.org/", "password"},
		{"curl, quoted, on two lines", "curl -X POST \\\n  --user 'bob:correct!horse' https://x.org/", "curl -X POST \\\n  --user 'bob:[redacted: password]' https://x.org/", "password"},
		{"curl, joined", "curl -ubob:s3cret x", "curl -ubob:[redacted: password] x", "password"},
		{"netrc", "machine x.org login bob password hunter2\nmachine y.org", "machine x.org login bob password [redacted: password]\nmachine y.org", "password"},
		{"netrc on lines", "machine x.org\n  login bob\n  password hunter2", "machine x.org\n  login bob\n  password [redacted: password]", "password"},
		{"passphrase", "passphrase: correct horse battery staple\nnext", "passphrase: [redacted: password]\nnext", "password"},
		{"passphrase, quoted", `ssh_passphrase = "correct horse battery staple 42x"`, `ssh_passphrase = "[redacted: password]"`, "password"},
		{"passphrase, one word", "passphrase: hunter2", "passphrase: [redacted: password]", "password"},
		{"german", "Passwort: hunter2, Kennwort: hunter3", "Passwort: [redacted: password], Kennwort: [redacted: password]", "password"},
		{"german sentence", "Mein WLAN-Passwort ist hunter2", "Mein WLAN-Passwort ist [redacted: password]", "password"},
		{"french", "Mot de passe : hunter2", "Mot de passe : [redacted: password]", "password"},
		{"french, as typeset", "mot de passe\u202f: hunter2 mot de passe\u00a0:\u00a0hunter2", "mot de passe\u202f: [redacted: password] mot de passe\u00a0:\u00a0[redacted: password]", "password"},
		{"spanish", "contraseña: hunter2", "contraseña: [redacted: password]", "password"},
		{"spanish, upper case", "CONTRASEÑA=hunter2", "CONTRASEÑA=[redacted: password]", "password"},
		{"portuguese", "a senha: hunter2", "a senha: [redacted: password]", "password"},
		{"russian", "Пароль: hunter2 пароль:hunter3", "Пароль: [redacted: password] пароль:[redacted: password]", "password"},
		{"japanese, with a colon", "パスワード：hunter2", "パスワード：[redacted: password]", "password"},
		{"korean", "비밀번호: hunter2", "비밀번호: [redacted: password]", "password"},
		{"full-width", "ｐａｓｓｗｏｒｄ：hunter2。", "ｐａｓｓｗｏｒｄ：[redacted: password]。", "password"},
		{"full-width value", "密码：ｈｕｎｔｅｒ２，好", "密码：[redacted: password]，好", "password"},
		{"two kinds", "password=hunter2 ghp_" + rnd36 + " password=hunter3", "password=[redacted: password] [redacted: github-token] password=[redacted: password]", "password github-token"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, kinds := redact.Secrets(tt.in)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			if k := strings.Join(kinds, " "); k != tt.kinds {
				t.Errorf("kinds = %q, want %q", k, tt.kinds)
			}
			if again, kinds := redact.Secrets(got); again != got || kinds != nil {
				t.Errorf("a second time: %q, %q", again, kinds)
			}
		})
	}
}

// What must stay. One text a line.
const harmless = `my token budget is 4096
the password is rotated every ninety days
the password is base64 encoded, the token is opaque
The password is required.
password: required
password: at least 12 characters, one digit
password:
"password": "must have 8 characters"
password = os.getenv("DB_PASS1")
password = getpass(prompt1)
password: ${DB_PASSWORD1}
password: $DB_PASSWORD1
password=%DB_PASS1%
password: {{ vault.db_pass1 }}
password=<your password 1>
password: xxxxxxxx1
password: ********
password: changeme123
password = config.password1
password=form.cleaned_data['password1']
password [redacted: password]
password = [redacted: password]
password: str = Field(min_length=8)
the secret: 3 items
secret: db-credentials-v2
tokens: 128000
max_tokens=4096, token: 4096
token: string
token: AccessTokenV2
token: my-service-token-2024
token: /run/secrets/db1_token
token = tokens[i1]
token::kind1
token: https://example.com/oauth2
primary_key: user_id2
public key: 9f8e7d6c5b4a39281706
api_key=YOUR_API_KEY_1234
api_key: your-api-key-here-1234
api key: see the vault of team 42
sk-...
sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxx
sk-learn-something-new-every-day-2024
sk-your-api-key-here-1234567890
task-1234567890abcdefghijklmnop
AKIAIOSFODNN7EXAMPLE
aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
AKIA is the prefix of an access key
ghp_ is the prefix of GitHub tokens
Authorization: Bearer <token>
Authorization: Bearer YOUR_TOKEN_HERE_1234
Authorization: Bearer ${TOKEN}
Authorization: required
Authorization: Basic authentication
the bearer of good news arrived yesterday
commit 3f786850e387550fdab836ed7e6dc881de23001b
uuid 550e8400-e29b-41d4-a716-446655440000
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
TWFuIGlzIGRpc3Rpbmd1aXNoZWQ=
Lines between -----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY----- are base64.
-----BEGIN CERTIFICATE-----
https://example.com/a:b@c
https://user:password@example.com/
postgres://user:${PASS}@db/x
http://localhost:8080/@scope/name
git@github.com:owner/name.git
mailto:bob@example.com
12:30:45 is the time
order 123456789:AAB
密码必须8位以上
密码：至少8位
密码是8位数字
他忘记了密码，请重置
口令：芝麻开门
compass: north1east2
the pass: 120 metres high
keyboard: qwerty123456
--- PASS: TestAddr/ipv4 (0.00s)
cmd.Env = append(cmd.Env, "PWD="+cfg.Dir2)
pass := &analysis.Pass{
ADD_ENCRYPTION_KEY = 0xc0506617
secret := []byte{0x00, 0x01}
monkey: 9f8e7d6c5b4a39281706
PWD=/home/user1
eyJ is how a JSON web token begins
The key to success: work 24x7
sk_test_ and rk_test_ are test keys, whsec_ signs webhooks
https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX
https://api.slack.com/messaging/webhooks
https://discord.com/channels/123456789012345678/123456789012345678
https://discord.com/api/webhooks/123456789012345678/your-token-here
Mondaymorningmeetings1234.GaB3dE.hello
AC3f786850e387550fdab836ed7e6dc881 is the account
not near anything of the kind, which takes more than eighty bytes of other text to make sure
md5 5d41402abc4b2a76b9719d911017c592
etag "5d41402abc4b2a76b9719d911017c592"
the token count of 3f786850e387550fdab836ed7e6dc881de23001b
tokens in 3f786850e387550fdab836ed7e6dc881de23001b
key-value stores, key-3f78, keyboard
shipping, shpat_, dapifoo, document, data, link, section
secret_santa_list_of_the_year_two_thousand
sig=none, sig: 12, design=flat
hvs.example.org
Cookie: theme=dark; lang=en-US; consent=accepted
Set-Cookie: a=b; Path=/; Max-Age=3600
Cookie: sidebar=collapsed; _ga=GA1.2
Cookie: session=<session>; token=${TOKEN}
cookies: chocolate chip 24x7
curl -u user:password https://example.com
curl -u $USER:$PASS https://example.com
curl -u bob https://example.com:8080/
the machine has a login and a password field1
passphrase: at least four words of your choice
passphrase: see the note in the vault
passphrase: optional
Passwort: erforderlich
Das Passwort ist abgelaufen
mot de passe : obligatoire
la contraseña: obligatoria
senha: obrigatória
ele desenha: quadros2x
пароль: не менее 8 символов
ｐａｓｓｗｏｒｄ：必須
ＡＢＣ１２３：全角
he passed: grade1A2B`

func TestHarmless(t *testing.T) {
	for _, line := range strings.Split(harmless, "\n") {
		if got, kinds := redact.Secrets(line); got != line || kinds != nil {
			t.Errorf("%q became %q", line, got)
		}
	}
	if got, kinds := redact.Secrets(harmless); got != harmless {
		t.Errorf("together: %s %q", cmp.Diff(harmless, got), kinds)
	}
}

// pieces are put together at random: whatever comes out, redacting twice must be redacting once.
var pieces = []string{"password", "token", "api-key", "密码", "secret ", "Bearer ", "Authorization", " is ", ": ", "=", ":", "：", "\"", "'", "\n", " ", "[", "]", "&", "x=", "--", "*", "\\n",
	"[redacted: password]", "[redacted: ", "aws", "hunter2", "sk-", "ghp_", rnd20, rnd36, rnd40, hex40, "AKIA", "Q3EGRZV7WX2KL5MN", "eyJhbGciOiJIUzI1NiJ9", ".", "://", "@", "/", "é", "str", "Cookie", "sid=", ";", "curl ", "-u ", "passphrase", " correct horse battery staple", "machine x login y ", "ｐａｓｓ", "ｗｏｒｄ", "２", "contrase", "ña", "пароль",
	"AC3f786850e387550fdab836ed7e6dc881", "sig=", "whsec_", "hooks.slack.com/services/T1/B1/", "mot de passe", "\u00a0",
	"-----BEGIN " + "PRIVATE KEY-----", "-----END " + "PRIVATE KEY-----", "MIIEpQIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9Oi+"}

func TestIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkIdempotent(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 30).Draw(t, "pieces"), ""))
	})
}

func FuzzSecrets(f *testing.F) {
	f.Add(strings.Join(pieces, ""))
	f.Add(strings.Join(pieces, " "))
	f.Add(harmless)
	f.Add(pemKey)
	f.Fuzz(func(t *testing.T, s string) { checkIdempotent(t, s) })
}

func checkIdempotent(t interface{ Fatalf(string, ...any) }, s string) {
	once, kinds := redact.Secrets(s)
	if (kinds == nil) != (once == s) {
		t.Fatalf("%q became %q with kinds %q", s, once, kinds)
	}
	if twice, kinds := redact.Secrets(once); twice != once || kinds != nil {
		t.Fatalf("%q\n became %q\n  then %q (%q)", s, once, twice, kinds)
	}
}

// A secret is found whatever ordinary text stands around it.
func TestFoundAnywhere(t *testing.T) {
	secrets := []string{"ghp_" + rnd36, "sk-ant-api03-" + rnd36, "glpat-" + rnd20, pemKey, "npm_" + rnd36}
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SampledFrom(secrets).Draw(t, "secret")
		around := rapid.StringOf(rapid.SampledFrom([]rune("ab 1\n\"':=,.(){}[]<>|密é\t"))) // no - or _ or letters joined on
		before, after := around.Draw(t, "before"), around.Draw(t, "after")
		text := before + " " + secret + " " + after
		if got, kinds := redact.Secrets(text); strings.Contains(got, secret) || len(kinds) == 0 {
			t.Fatalf("%q kept the secret", got)
		}
	})
}

// A long value is judged by its beginning and hidden to its end.
func TestLongValue(t *testing.T) {
	long := strings.Repeat(rnd36, 40)
	for _, in := range []string{"token=" + long, "Bearer " + long, "token: \"" + long + "\""} {
		if got, _ := redact.Secrets(in + " end"); strings.Contains(got, rnd20) || !strings.HasSuffix(got, " end") {
			t.Errorf("%.20s... became %q", in, got)
		}
	}
}

func BenchmarkSecrets(b *testing.B) {
	english := "We met on Tuesday and talked about the budget: 4096 tokens, no more. The key point is that she likes tea. "
	for _, bm := range []struct{ name, text string }{
		{"english", strings.Repeat(english, 80)[:8000]},
		{"chinese", string([]rune(strings.Repeat("我喜欢在周末早上喝一杯茶，然后读书。", 500))[:8000])},
		{"secrets", strings.Repeat(english+"password: hunter2 ghp_"+rnd36+" ", 60)[:8000]},
		{"adversarial", strings.Repeat("password=", 889)[:8000]},
		{"adversarial curl", strings.Repeat("curl -u \\\n", 800)[:8000]},
		{"adversarial cookies", strings.Repeat("Cookie: a=b;", 700)[:8000]},
		{"adversarial passphrase", strings.Repeat("passphrase: a b ", 500)[:8000]},
		{"adversarial accounts", strings.Repeat("AC3f786850e387550fdab836ed7e6dc881 ", 240)[:8000]},
		{"full-width", strings.Repeat("ｐａｓｓ：", 540)[:8000]},
		{"adversarial tokens", strings.Repeat("token=", 1400)[:8000]},
		{"adversarial pem", strings.Repeat("-----BEGIN "+"PRIVATE KEY----- MIIEpQIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9Oi x", 130)[:8000]},
		{"code", strings.Repeat("if token := next(tokens[i]); token.kind == \"password\" { return https://x.org/a:b } // aws key=1\n", 95)[:8000]},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.SetBytes(int64(len(bm.text)))
			b.ReportAllocs()
			for b.Loop() {
				redact.Secrets(bm.text)
			}
		})
	}
}
