package main

import (
	"strings"
	"testing"
	"time"
)

func TestReport(t *testing.T) {
	tests := []struct {
		name   string
		events string
		want   string
		ok     bool
	}{{
		name: "counts subtests instead of their parent",
		events: `
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/x"}
{"Action":"run","Package":"p","Test":"TestA/y"}
{"Action":"pass","Package":"p","Test":"TestA/x"}
{"Action":"pass","Package":"p","Test":"TestA/y"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Elapsed":0.5}`,
		want: `
ok    p (0.5s)
2 passed, 0 failed, 0 skipped in 2s
`,
		ok: true,
	}, {
		name: "shows slow tests as they end and why tests are skipped",
		events: `
{"Action":"run","Package":"p","Test":"TestSlow"}
{"Action":"output","Package":"p","Test":"TestSlow","Output":"=== RUN   TestSlow\n"}
{"Action":"pass","Package":"p","Test":"TestSlow","Elapsed":1.25}
{"Action":"run","Package":"p","Test":"TestSkipped"}
{"Action":"output","Package":"p","Test":"TestSkipped","Output":"=== RUN   TestSkipped\n"}
{"Action":"output","Package":"p","Test":"TestSkipped","Output":"    a_test.go:7: no cluster\n"}
{"Action":"skip","Package":"p","Test":"TestSkipped"}
{"Action":"pass","Package":"p","Elapsed":2}`,
		want: `
pass  TestSlow (1.2s)
skip  TestSkipped: a_test.go:7: no cluster
ok    p (2.0s)
1 passed, 0 failed, 1 skipped in 2s
`,
		ok: true,
	}, {
		name: "counts one failure where a subtest fails its parent, and shows its output",
		events: `
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/x"}
{"Action":"output","Package":"p","Test":"TestA/x","Output":"=== RUN   TestA/x\n"}
{"Action":"output","Package":"p","Test":"TestA/x","Output":"    --- FAIL: TestA/x\n"}
{"Action":"fail","Package":"p","Test":"TestA/x"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p","Elapsed":1}`,
		want: `
    --- FAIL: TestA/x
FAIL  p (1.0s)
0 passed, 1 failed, 0 skipped, 1 packages failed in 2s
`,
	}, {
		name: "counts a parent that fails by itself",
		events: `
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/x"}
{"Action":"pass","Package":"p","Test":"TestA/x"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p","Elapsed":1}`,
		want: `
FAIL  p (1.0s)
1 passed, 1 failed, 0 skipped, 1 packages failed in 2s
`,
	}, {
		name: "counts a test that a panic or a timeout cut off",
		events: `
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"panic: no\n"}
{"Action":"fail","Package":"p","Elapsed":1}`,
		want: `
panic: no
FAIL  p (1.0s)
0 passed, 1 failed, 0 skipped, 1 packages failed in 2s
`,
	}, {
		name: "counts a test that ran when go test itself was killed",
		events: `
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestB"}`,
		want: `
1 passed, 1 failed, 0 skipped in 2s
`,
	}, {
		name: "fails where a package does not build",
		events: `
{"Action":"run","Package":"q","Test":"TestA"}
{"Action":"pass","Package":"q","Test":"TestA"}
{"Action":"pass","Package":"q","Elapsed":0}
{"Action":"build-output","ImportPath":"p [p.test]","Output":"p.go:1:1: expected package\n"}
{"Action":"build-fail","ImportPath":"p [p.test]"}
{"Action":"fail","Package":"p","Elapsed":0}`,
		want: `
ok    q (0.0s)
p.go:1:1: expected package
FAIL  p (0.0s)
1 passed, 0 failed, 0 skipped, 1 packages failed in 2s
`,
	}, {
		name:   "fails where nothing was tested, and passes other text through",
		events: "\npattern ./...: no such directory",
		want: `
pattern ./...: no such directory
0 passed, 0 failed, 0 skipped in 2s
`,
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			r := newReport(&out)
			if err := readAll(strings.NewReader(strings.TrimPrefix(test.events, "\n")), r); err != nil {
				t.Fatal(err)
			}
			ok := r.finish(2 * time.Second)
			if got, want := out.String(), strings.TrimPrefix(test.want, "\n"); got != want {
				t.Errorf("printed\n%s\nwant\n%s", got, want)
			}
			if ok != test.ok {
				t.Errorf("ok is %t, want %t", ok, test.ok)
			}
		})
	}
}
