package decide

import (
	"testing"

	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

func TestAnEditIsMissedOnlyIfItCameAfterTheRecordAndBeforeTheWatches(t *testing.T) {
	recorded, edited := objecttest.Data{"a": "2", "b": "1"}, objecttest.Data{"a": "3", "b": "1"}
	for name, test := range map[string]struct {
		reads  bool            // only the key b
		before objecttest.Data // what the former process saw after the restart
		listed objecttest.Data // what this one lists
		after  objecttest.Data // what it sees later
		want   bool
	}{
		"nothing happened":               {listed: recorded},
		"nobody watched":                 {listed: edited, want: true},
		"nobody watched, and it is gone": {listed: edited, after: objecttest.Data{}},
		"this process watched":           {listed: recorded, after: edited},
		"another edit was watched":       {listed: edited, after: objecttest.Data{"a": "4", "b": "1"}},
		"the former process watched":     {before: edited, listed: edited, want: true},
		"another key that it reads not":  {reads: true, listed: edited},
	} {
		t.Run(name, func(t *testing.T) {
			reads := objecttest.ReadsAll("web", false)
			if test.reads {
				reads = objecttest.ReadsKey("web", "b", false)
			}
			s := begin(objecttest.Deployment(reads))
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1", "b": "1"}))
			s.recorded(10)
			s.config("web", recorded, 20)
			s.restart(21)
			if test.before != nil {
				s.config("web", test.before, 30)
			}
			missed := func() bool {
				return s.catalog.MissedEdit(s.catalog.Workload(objecttest.DeploymentRef("web")), objecttest.ConfigMapRef("web"))
			}
			if missed() {
				t.Error("the process that restarted has missed an edit")
			}
			s.restartController(objecttest.ConfigMap("web", test.listed))
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
