package gate

import (
	"testing"

	"kubernetes-deployment-restart-controller/catalog/names"
)

func TestTheCommandThatShowsAFailureIsSafeToPaste(t *testing.T) {
	for _, c := range []struct {
		namespace string
		seen      Evidence
		want      string
	}{
		{"a", Evidence{}, ""},
		{"a", Evidence{"web-1", "app", true}, "kubectl logs -n a web-1 -c app --previous"},
		{"a", Evidence{"web-1", "app", false}, "kubectl describe pod -n a web-1"},
		{"a", Evidence{"web-1", "app; reboot", true}, "kubectl describe pod -n a web-1"},
		{"a", Evidence{"web-1;reboot", "app", true}, ""},
		{"a b", Evidence{"web-1", "app", true}, ""},
		{"a", Evidence{"--help", "app", false}, ""},
	} {
		if got := c.seen.Command(c.namespace); got != c.want {
			t.Errorf("%+v in %q: %q, want %q", c.seen, c.namespace, got, c.want)
		}
	}
}

func TestNobodyIsSentToAPodThatTheyMayNotSee(t *testing.T) {
	h := Halt{
		Config: GroupOf(names.ConfigMap, "ca"), Evidence: Evidence{"web-1", "app", true},
		Failed: []names.WorkloadRef{{Kind: names.Deployment, Namespace: "a", Name: "web"}},
	}
	if got := h.Command(); got != "" {
		t.Errorf("of a group: %q", got)
	}
	h.Config.Namespace = "a"
	if got := h.Command(); got != "kubectl logs -n a web-1 -c app --previous" {
		t.Errorf("of a config: %q", got)
	}
}
