package controller

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kubernetes-deployment-restart-controller/catalog/optin"
)

func TestASelectorThatSelectsNoNamespaceSaysSoOnceEachTimeItComesToThat(t *testing.T) {
	selector, err := labels.Parse("tier=web")
	if err != nil {
		t.Fatal(err)
	}
	for name, rules := range map[string]optin.Rules{"a selector": {Selector: selector}, "no selector": {ByNamespace: true}} {
		t.Run(name, func(t *testing.T) {
			w := ruled(t, rules)
			log := w.log()
			want := 0
			require := func(when string, tells bool) {
				t.Helper()
				if tells && rules.Selector != nil {
					want++
				}
				if got := strings.Count(log.String(), "selects no namespace"); got != want {
					t.Errorf("%s: said %d times, want %d:\n%s", when, got, want, log)
				}
			}
			labelled := func(tier string) map[string]*corev1.Namespace {
				namespace := &corev1.Namespace{ObjectMeta: w.meta("/a")}
				namespace.Labels = map[string]string{"tier": tier}
				return map[string]*corev1.Namespace{"a": namespace}
			}
			w.says("a", "", "tier=db")
			require("before the list", false)
			list(w, "namespaces", labelled("db"))
			require("after a list in which none is selected", true)
			list(w, "namespaces", labelled("db"))
			w.says("b", "", "tier=db")
			require("after the same again", false)
			w.says("a", "", "tier=web")
			w.says("b", "", "tier=web")
			w.says("a", "", "tier=db")
			require("while b is selected", false)
			w.says("b", "", "tier=db")
			require("when none is selected any more", true)
			list(w, "namespaces", labelled("web"))
			require("after a list with one that is selected", false)
			w.hide("namespaces", labelled("web")["a"])
			require("when that one is gone", true)
			list(w, "namespaces", labelled("web"))
			list(w, "namespaces", map[string]*corev1.Namespace{})
			require("after a list without it", true)
		})
	}
}
