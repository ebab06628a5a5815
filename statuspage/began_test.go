package statuspage

import (
	"strings"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/status"
)

func TestAPageSaysWhatMayHaveBegunEarlier(t *testing.T) {
	since := time.Now().Add(-time.Minute)
	for name, data := range map[string]any{
		"entries": status.List[status.Entry]{Items: []status.Entry{{Beginning: status.Beginning{Since: since, AtLeast: true}}}},
		"fanouts": status.List[status.FanOut]{Items: []status.FanOut{{Beginning: status.Beginning{Since: since, AtLeast: true}}}},
		"gaps":    []status.Gap{{Beginning: status.Beginning{Since: since, AtLeast: true}}},
	} {
		var page strings.Builder
		if err := templates.ExecuteTemplate(&page, name, data); err != nil || !strings.Contains(page.String(), "at least since ") {
			t.Errorf("%s: %v\n%s", name, err, &page)
		}
	}
}
