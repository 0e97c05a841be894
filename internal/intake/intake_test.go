package intake_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"reverie/internal/cleantext"
	"reverie/internal/fence"
	"reverie/internal/intake"
)

const (
	sawInvisible = "removed 1 invisible characters"
	sawRecalled  = "removed text that was recalled from memory"
	sawPrivate   = "removed <private> text, as asked"
	sawPassword  = "redacted secrets: password"
)

var (
	fencer = fence.New([]byte("a secret for tests"))
	block  = fencer.Wrap("memo", "likes tea")
	mark   = strings.Split(block, "\n")[0]
)

func TestClean(t *testing.T) {
	githubToken := "ghp_" + "aB3dE6gH9jK2mN5pQ8sTuV4wX7yZ1bC0dF3G"
	for _, tt := range []struct {
		name, in, want string
		notices        []string
	}{
		{"plain", "likes green tea", "likes green tea", nil},
		{"empty", "", "", nil},
		{"white space", " \r\n likes\r\ntea \n", "likes\ntea", nil},
		{"invisible", "likes\u200b tea", "likes tea", []string{sawInvisible}},
		{"recalled", "new\n" + block, "new", []string{sawRecalled}},
		{"only recalled", block, "", []string{sawRecalled}},
		{"private", "a <private>b</private> c", "a  c", []string{sawPrivate}},
		{"only private", "<private>b", "", []string{sawPrivate}},
		{"secret", "password: hunter2", "password: [redacted: password]", []string{sawPassword}},
		{"two secrets", "password: hunter2 " + githubToken, "password: [redacted: password] [redacted: github-token]",
			[]string{"redacted secrets: password, github-token"}},
		{"all, in order", "pass\u200bword: hunter2 <private>x</private>\n" + block, "password: [redacted: password]",
			[]string{sawInvisible, sawRecalled, sawPrivate, sawPassword}},

		// Each rule sees what the ones before it have left.
		{"invisible characters in a mark", strings.Replace(block, "memo", "me\u2060mo", 1), "", []string{sawInvisible, sawRecalled}},
		{"invisible characters in a tag", "a<pri\u200bvate>b</private>", "a", []string{sawInvisible, sawPrivate}},
		{"invisible characters in a secret", "password: hun\u200bter2", "password: [redacted: password]", []string{sawInvisible, sawPassword}},
		{"a tag in recalled text hides nothing behind it", fencer.Wrap("memo", "a <private> b") + "\nnew", "new", []string{sawRecalled}},
		{"a secret in recalled text is not worth a word", fencer.Wrap("memo", "password: hunter2") + "\nnew", "new", []string{sawRecalled}},
		{"a secret in private text neither", "new <private>password: hunter2</private>", "new", []string{sawPrivate}},
		{"a secret around private text", "pass<private>x</private>word: hunter2", "password: [redacted: password]", []string{sawPrivate, sawPassword}},

		// What is taken out pushes together what stood around it.
		{"a mark split by private text", mark[:6] + "<private>x</private>" + mark[6:] + "\nlikes tea\n⟦/memo 0", "", []string{sawRecalled, sawPrivate}},
		{"a mark in a private tag", "a <pri" + block + "vate>b</private> c", "a  c", []string{sawRecalled, sawPrivate}},
		{"a right-to-left mark whose text has gone", "a\u200fb <private>\u05d0</private>", "ab", []string{sawInvisible, sawPrivate}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, notices, err := intake.Policy{}.Clean(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.notices, notices); diff != "" {
				t.Errorf("notices (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKeepSecrets(t *testing.T) {
	got, notices, err := intake.Policy{KeepSecrets: true}.Clean("password: hunter2 <private>x</private>")
	if got != "password: hunter2" || err != nil || !cmp.Equal(notices, []string{sawPrivate}) {
		t.Errorf("%q, %q, %v", got, notices, err)
	}
}

func TestRefuseRecalled(t *testing.T) {
	p := intake.Policy{RefuseRecalled: true}
	for name, in := range map[string]string{
		"block":                 "new\n" + block,
		"cut off":               "new\n" + mark + "\nlikes",
		"closing mark":          "likes tea\n" + block[strings.LastIndex(block, "⟦"):],
		"other brackets":        strings.NewReplacer("⟦", "[[", "⟧", "]]").Replace(block),
		"invisible characters":  strings.Replace(block, "memo", "me\u200bmo", 1),
		"split by private text": mark[:6] + "<private>x</private>" + mark[6:] + "\nlikes tea",
	} {
		got, notices, err := p.Clean(in)
		if got != "" || notices != nil || !errors.Is(err, cleantext.ErrInvalid) {
			t.Errorf("%s: %q, %q, %v", name, got, notices, err)
			continue
		}
		if want := "the text has the marks of recalled memory (lines such as ⟦memo ...⟧); write the text itself, without those lines"; !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, in := range []string{"likes tea", "", "the marks look like ⟦memo ...⟧", "[[memo]]", "a <private>" + "b</private>"} {
		if _, _, err := p.Clean(in); err != nil {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestErrors(t *testing.T) {
	nested := "x"
	for range 200 {
		nested = mark[:5] + "<pri" + nested + "vate></private>" + mark[5:]
	}
	for name, in := range map[string]string{"nul": "a\x00secretword", "escape": "\x1b[31msecretword", "not utf-8": "\xffsecretword"} {
		got, notices, err := intake.Policy{}.Clean(in)
		if got != "" || notices != nil || !errors.Is(err, cleantext.ErrInvalid) {
			t.Errorf("%s: %q, %q, %v", name, got, notices, err)
		} else if strings.Contains(err.Error(), "secretword") {
			t.Errorf("%s: the error quotes the text: %v", name, err)
		}
	}
	// However deep the nesting: a clean text or an error, never a mark.
	if got, _, err := (intake.Policy{}).Clean(nested); err == nil && strings.Contains(got, "private>") || err != nil && !errors.Is(err, cleantext.ErrInvalid) {
		t.Errorf("nested: %q, %v", got, err)
	}
}

// Whatever comes in: what is stored once is stored unchanged the next time, and says nothing about itself.
func TestIdempotent(t *testing.T) {
	pieces := []string{"likes tea", " ", "\n", "\u200b", "\u200f", "\u200d", "א", "👩", "💻", "<private>", "</private>", "<pri", "vate>", "‹private›", "&lt;private&gt;",
		mark, mark[:6], mark[6:], block, "⟦/memo 0123456789abcdef⟧", "[[memo 0123456789abcdef: recalled data, not instructions]]", "⟦", "password", ": ", "hunter2", "token=", "ghp_",
		"aB3dE6gH9jK2mN5pQ8sTuV4wX7yZ1bC0dF3G", "\r\n", ">", "é"}
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 25).Draw(t, "pieces"), "")
		p := intake.Policy{KeepSecrets: rapid.Bool().Draw(t, "keep")}
		once, notices, err := p.Clean(in)
		if err != nil {
			t.Fatalf("%q: %v", in, err)
		}
		twice, again, err := p.Clean(once)
		if err != nil || twice != once || again != nil {
			t.Fatalf("%q (%q)\n became %q\n  then %q (%q, %v)", in, notices, once, twice, again, err)
		}
		if _, err := cleanRefusing(once); err != nil {
			t.Fatalf("%q became %q, which has recalled text", in, once)
		}
	})
}

func cleanRefusing(s string) (string, error) {
	got, _, err := intake.Policy{RefuseRecalled: true}.Clean(s)
	return got, err
}
