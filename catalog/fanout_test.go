package catalog

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestAnEditIsMissedOnlyIfItCameAfterTheRecordAndBeforeTheWatches(t *testing.T) {
	recorded, edited := data{"a": "2", "b": "1"}, data{"a": "3", "b": "1"}
	for name, test := range map[string]struct {
		reads  bool // only the key b
		before data // what the former process saw after the restart
		listed data // what this one lists
		after  data // what it sees later
		want   bool
	}{
		"nothing happened":               {listed: recorded},
		"nobody watched":                 {listed: edited, want: true},
		"nobody watched, and it is gone": {listed: edited, after: data{}},
		"this process watched":           {listed: recorded, after: edited},
		"another edit was watched":       {listed: edited, after: data{"a": "4", "b": "1"}},
		"the former process watched":     {before: edited, listed: edited, want: true},
		"another key that it reads not":  {reads: true, listed: edited},
	} {
		t.Run(name, func(t *testing.T) {
			reads := readsAll("web", false)
			if test.reads {
				reads = readsKey("web", "b", false)
			}
			s := begin(deployment(reads))
			s.listed(configMap("web", data{"a": "1", "b": "1"}))
			s.recorded(10)
			s.config("web", recorded, 20)
			s.restart(21)
			if test.before != nil {
				s.config("web", test.before, 30)
			}
			missed := func() bool {
				return s.catalog.MissedEdit(s.catalog.Workload(deploymentRef("web")), configMapRef("web"), new(Computed))
			}
			if missed() {
				t.Error("the process that restarted has missed an edit")
			}
			s.restartController(configMap("web", test.listed))
			switch {
			case len(test.after) > 0:
				s.config("web", test.after, 40)
			case test.after != nil:
				s.deleted("web", 40)
			}
			if got := missed(); got != test.want {
				t.Errorf("missed: %t, want %t", got, test.want)
			}
		})
	}
}

// Each takeover asks this about all restarts of the last minutes, before anybody may restart, and configs may be large.
func TestThatAnEditWasMissedIsFoundWithOneChecksumForAllReaders(t *testing.T) {
	c, _ := readersOfWeb(2, func(int) corev1.Container { return readsAll("web", false) })
	known, readers := new(Computed), c.WorkloadsReferencing(configMapRef("web"))
	for _, w := range readers {
		w.RecordSeen = c.config(configMapRef("web")).Edits[0].Seen // no watch showed an edit since
		if c.MissedEdit(w, configMapRef("web"), known) {
			t.Error("an edit was missed")
		}
	}
	if len(known.of) != 1 {
		t.Fatalf("%d configs are remembered", len(known.of))
	}
	for _, computed := range known.of {
		*computed.checksum++
	}
	if !c.MissedEdit(readers[0], configMapRef("web"), known) {
		t.Error("the checksum was computed again")
	}
}
