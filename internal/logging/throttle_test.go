package logging

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
)

func TestTheLogHasFewLinesOfAKindAboutANamespace(t *testing.T) {
	workload := func(namespace string, i int) any {
		return names.WorkloadRef{Kind: names.Deployment, Namespace: namespace, Name: fmt.Sprint("web-", i)}
	}
	for name, of := range map[string]func(namespace string, i int) (key string, value any){
		"of workloads": func(n string, i int) (string, any) { return "workload", workload(n, i) },
		"of configs": func(n string, i int) (string, any) {
			return "config", names.ConfigRef{Kind: names.Secret, Namespace: n, Name: fmt.Sprint("web-", i)}
		},
		"of Deployments of the engine":      func(n string, i int) (string, any) { return "deployment", fmt.Sprint(n, "/web-", i) },
		"of objects that are left alone":    func(n string, i int) (string, any) { return "object", fmt.Sprint("pod/", n, "/web-", i) },
		"of a Namespace as an object":       func(n string, _ int) (string, any) { return "object", "namespace//" + n },
		"of the namespace and other things": func(n string, _ int) (string, any) { return "namespace", n },
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { testThrottledLog(t, of) }) })
	}
}

func testThrottledLog(t *testing.T, of func(namespace string, i int) (key string, value any)) {
	var out strings.Builder
	log := New(false, 0, &out)
	write := func(namespace string, n int) (lines int, last string) {
		out.Reset()
		for i := range n {
			key, value := of(namespace, i)
			log.Info("no longer enabled", "annotation", "", key, value)
		}
		all := strings.Split(strings.TrimSpace(out.String()), "\n")
		return strings.Count(out.String(), "\n"), all[len(all)-1]
	}
	if lines, last := write("hostile", linesAtOnce); lines != linesAtOnce || strings.Contains(last, "left_out") {
		t.Errorf("%d lines of %d, the last is %s", lines, linesAtOnce, last)
	}
	if lines, _ := write("hostile", 500); lines != 0 {
		t.Errorf("%d more lines", lines)
	}
	if lines, _ := write("other", 1); lines != 1 {
		t.Error("a line about another namespace is missing")
	}
	time.Sleep(3 * lineInterval)
	if lines, _ := write("hostile", 500); lines != 3 {
		t.Errorf("%d lines after three intervals", lines)
	}
	time.Sleep(lineInterval)
	if lines, last := write("hostile", 1); lines != 1 || !strings.HasSuffix(last, "left_out=497") {
		t.Errorf("%d lines, the last is %s", lines, last)
	}
	out.Reset()
	key, value := of("hostile", 0)
	if log.Info("another message", key, value); !strings.Contains(out.String(), "another message") {
		t.Error("another message about the namespace is left out")
	}
	out.Reset()
	for range 2 * linesAtOnce {
		log.Info("about no namespace", "error", "none")
	}
	if lines := strings.Count(out.String(), "\n"); lines != 2*linesAtOnce {
		t.Errorf("%d lines about no namespace", lines)
	}
}

func TestTheLogRemembersABoundedNumberOfMessagesAndNamespaces(t *testing.T) {
	counts := &lineCounts{of: make(map[lineKind]*lineCount)}
	for i := range 3 * maxLineCounts {
		counts.take(lineKind{fmt.Sprint(i), "message"}, time.Now())
	}
	if len(counts.of) > maxLineCounts {
		t.Errorf("%d are remembered", len(counts.of))
	}
}
