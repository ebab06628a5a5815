package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// findAxe returns the code of axe-core, which `make test` fetches.
func findAxe(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("../../bin/axe-*.js")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Skip("no axe-core: make test fetches it with npm")
	}
	code, err := os.ReadFile(found[len(found)-1])
	if err != nil {
		t.Fatal(err)
	}
	return string(code)
}

func TestAxeFindsNothingOnAnyPage(t *testing.T) {
	t.Parallel()
	axe := findAxe(t)
	for name, c := range map[string]content{"busy": busy(), "idle": idle(), "standby": standby(), "not found": {Overview: idle().Overview}} {
		s, b := serve(t, c), openTab(t)
		for _, scheme := range []string{"light", "dark"} {
			b.prefer(scheme)
			for _, width := range []int64{500, 1280} {
				b.resize(width, 900)
				for _, path := range paths {
					b.visit(s.URL + path)
					if found := b.violations(axe); len(found) > 0 {
						t.Errorf("%s: %s, %s, %d pixels wide:\n%s", name, path, scheme, width, strings.Join(found, "\n"))
					}
				}
			}
		}
		b.visit(s.URL)
		b.run(`document.querySelector("header").append(document.createElement("button"))`)
		if found := b.violations(axe); len(found) != 1 || !strings.HasPrefix(found[0], "button-name: ") {
			t.Errorf("of a button without a text, it finds %q", found)
		}
	}
}

// violations returns what axe-core finds on the page.
func (b *tab) violations(axe string) []string {
	b.Helper()
	b.run(axe)
	const all = `axe.run({preload: false}).then(result => result.violations.map(v => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200)).join(" ")))`
	found, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](all, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatal(err)
	}
	return found
}
