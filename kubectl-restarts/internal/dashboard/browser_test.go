package dashboard

import (
	"strings"
	"testing"
)

func TestEachSystemOpensTheBrowserInItsWay(t *testing.T) {
	for system, want := range map[string]string{
		"linux": "xdg-open http://127.0.0.1:1/", "freebsd": "xdg-open http://127.0.0.1:1/", "darwin": "open http://127.0.0.1:1/",
		"windows": "rundll32 url.dll,FileProtocolHandler http://127.0.0.1:1/",
	} {
		if got := strings.Join(opener(system, "http://127.0.0.1:1/"), " "); got != want {
			t.Errorf("%s: %s, want %s", system, got, want)
		}
	}
}
