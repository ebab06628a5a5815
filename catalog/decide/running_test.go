package decide

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

var whole = workload.Rollout{Wanted: 3, Updated: 3, Available: 3, Observed: true}

// caughtUp shows that the Deployment runs, and that its record of the present content was written at
// the given time, with a restart for the named ConfigMaps.
func (s *story) caughtUp(seconds float64, change func(*workload.Workload), restartedFor ...string) {
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	checksums := currentChecksums(&view, seenConfigs(&view), false)
	catalogtest.WriteRecord(s.deployment, checksums, objecttest.NoonPlus(seconds))
	w := s.reduced()
	w.Rollout = whole
	for _, name := range restartedFor {
		w.Record.RestartedFor = append(w.Record.RestartedFor, record.Restarted{Config: objecttest.ConfigMapRef(name)})
	}
	change(&w)
	s.catalog.ObserveWorkload(w)
}

func unchanged(*workload.Workload) {}

func TestAReaderRunsWithTheContentOfAnEditOnlyIfAllOfItShows(t *testing.T) {
	for name, test := range map[string]struct {
		reads corev1.Container
		after func(*workload.Workload)
		edit  objecttest.Data // another one, after the workload has caught up
		want  bool
	}{
		"it does":                           {want: true},
		"as the record of another process":  {after: func(w *workload.Workload) { w.OwnRecord = false }, want: true},
		"pods are missing":                  {after: func(w *workload.Workload) { w.Rollout.Available = 2 }},
		"it wants no pods":                  {after: func(w *workload.Workload) { w.Idle = true }},
		"it is paused":                      {after: func(w *workload.Workload) { w.Hold = workload.Paused }},
		"it is being deleted":               {after: func(w *workload.Workload) { w.Deleting = true }},
		"its record is not trusted":         {after: func(w *workload.Workload) { w.Record.Trusted = false }},
		"its restart was reverted":          {after: func(w *workload.Workload) { w.Record.Reverted = &record.Revert{} }},
		"the config is not recorded":        {after: func(w *workload.Workload) { delete(w.Record.Checksums, objecttest.ConfigMapRef("web")) }},
		"other content is recorded":         {after: func(w *workload.Workload) { w.Record.Checksums[objecttest.ConfigMapRef("web")]++ }},
		"it reads only the edited key":      {reads: objecttest.ReadsKey("web", "a", false), want: true},
		"it reads only another key":         {reads: objecttest.ReadsKey("web", "b", false)},
		"another key that it reads changed": {edit: objecttest.Data{"a": "2", "b": "2"}},
		"another key that it does not read": {reads: objecttest.ReadsKey("web", "a", false), edit: objecttest.Data{"a": "2", "b": "2"}, want: true},
		"the edited key changed again":      {edit: objecttest.Data{"a": "3", "b": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.reads.Name == "" {
				test.reads = objecttest.ReadsAll("web", false)
			}
			if test.after == nil {
				test.after = unchanged
			}
			s := begin(objecttest.Deployment(test.reads))
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1", "b": "1"}))
			s.config("web", objecttest.Data{"a": "2", "b": "1"}, 20)
			moment := s.momentOf("a")
			s.caughtUp(30, test.after)
			if test.edit != nil {
				s.config("web", test.edit, 40)
			}
			if got, _ := s.catalog.Running(objecttest.ConfigMapRef("web"), moment); (len(got) == 1) != test.want {
				t.Errorf("running: %v", got)
			}
			if got, _ := s.catalog.Running(objecttest.ConfigMapRef("web"), moment+100); got != nil {
				t.Errorf("running for a moment without edits: %v", got)
			}
			s.deleted("web", 50)
			if got, _ := s.catalog.Running(objecttest.ConfigMapRef("web"), moment); got != nil {
				t.Errorf("running with a config that is gone: %v", got)
			}
		})
	}
}

func TestAReaderRunsWithWhatNoWatchShowedIfItsLastRestartWasForIt(t *testing.T) {
	edited := objecttest.ConfigMap("web", objecttest.Data{"a": "1"})
	edited.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(20), "f:data/f:a")}
	neverEdited := objecttest.ConfigMap("web", objecttest.Data{"a": "1"})
	for name, test := range map[string]struct {
		config       *corev1.ConfigMap
		restartedFor []string
		written      float64
		want         bool
	}{
		"after the edit":                    {edited, []string{"web"}, 30, true},
		"in the same second":                {edited, []string{"web"}, 20.1, true},
		"before the edit":                   {edited, []string{"web"}, 19.9, false},
		"for another config":                {edited, []string{"other"}, 30, false},
		"no restart":                        {edited, nil, 30, false},
		"after the creation, without edits": {neverEdited, []string{"web"}, 1, true},
		"before the creation":               {neverEdited, []string{"web"}, -1, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
			s.listed(test.config)
			s.caughtUp(test.written, unchanged, test.restartedFor...)
			if got, _ := s.catalog.Running(objecttest.ConfigMapRef("web"), 0); (len(got) == 1) != test.want {
				t.Errorf("running: %v", got)
			}
			s.config("web", objecttest.Data{"a": "1", "b": "2"}, 40)
			if got, _ := s.catalog.Running(objecttest.ConfigMapRef("web"), 0); got != nil {
				t.Errorf("running after another edit: %v", got)
			}
		})
	}
}

func TestAReaderOfASecretRunsWithItOnlyIfTheKeyShowsThat(t *testing.T) {
	d := objecttest.Deployment(objecttest.ReadsSecret("tls"))
	s := begin(d)
	s.catalog.SetKey(catalogtest.TestKey)
	s.listed()
	s.catalog.ObserveConfig(content.NewSecret(objecttest.Secret("tls", objecttest.Data{"a": "1"})), objecttest.NoonPlus(10))
	s.caughtUp(20, unchanged)
	moment := s.catalog.Config(objecttest.SecretRef("tls")).Appeared
	for _, test := range []struct {
		name string
		key  content.ChecksumKey
		want int
	}{
		{"the key of the record", catalogtest.TestKey, 1},
		{"another key", content.NewChecksumKey([content.ChecksumKeySize]byte{1}), 0},
		{"no key", content.ChecksumKey{}, 0},
	} {
		s.catalog.SetKey(test.key)
		if got, _ := s.catalog.Running(objecttest.SecretRef("tls"), moment); len(got) != test.want {
			t.Errorf("%s: running %v", test.name, got)
		}
	}
	s.catalog.Workload(objecttest.DeploymentRef("web")).Record.Key = "" // forged, with the checksum that no key makes
	s.catalog.Workload(objecttest.DeploymentRef("web")).Record.Checksums[objecttest.SecretRef("tls")] = 0
	if got, _ := s.catalog.Running(objecttest.SecretRef("tls"), moment); got != nil {
		t.Errorf("running by a forged checksum: %v", got)
	}
}

// isRunning is what Running promises, of one workload and in the obvious way.
func isRunning(view catalog.View, config *content.Config, moment names.Sequence) bool {
	w, last, unseen := view.Workload, config.Creation().At, false
	for _, edit := range config.Edits {
		if edit.Seen == 0 && (!unseen || edit.At.After(last)) {
			last, unseen = edit.At, true
		}
	}
	isFor := slices.ContainsFunc(w.Record.RestartedFor, func(r record.Restarted) bool { return r.Config == config.Ref })
	takesPart := moment == 0 && isFor && !w.Record.Written.Before(last.Truncate(time.Second))
	for _, edit := range append(slices.Clone(config.Edits), config.Creation()) {
		for _, r := range w.References {
			takesPart = takesPart || moment > 0 && edit.Seen == moment && r.Config == config.Ref && config.IsVisible(edit, r.Keys)
		}
	}
	seenConfigs := seenConfigs(&view)
	same := slices.ContainsFunc(seenConfigs, func(s seenConfig) bool { return s.ref == config.Ref && s.standing == asRecorded })
	return takesPart && same && w.Record.Reverted == nil && !w.Idle
}

func TestRunningReadersAreThoseWhoseRecordsAndReferencesSaySo(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		known := w.catalog.Workload(objecttest.DeploymentRef("web"))
		known.Rollout = whole
		for _, ref := range known.Configs() {
			if rapid.Bool().Draw(t, "restarted for it") {
				known.Record.RestartedFor = append(known.Record.RestartedFor, record.Restarted{Config: ref})
			}
		}
		view, _ := w.catalog.View(objecttest.DeploymentRef("web"))
		for _, ref := range known.Configs() {
			config := view.Present(ref)
			for moment := range w.catalog.Sequence() + 1 {
				want := config != nil && isRunning(view, config, moment)
				if got, _ := w.catalog.Running(ref, moment); (len(got) == 1) != want {
					t.Fatalf("%s, moment %d: running %v, want it: %t", ref, moment, got, want)
				}
				if want {
					found++
				}
			}
		}
	})
	if found == 0 {
		t.Error("nothing was running in any world")
	}
}

// readersOfWeb is a catalog with n whole Deployments that run with the last edit of the ConfigMap web.
func readersOfWeb(n int, reads func(i int) corev1.Container) (*catalog.Catalog, names.Sequence) {
	c := catalog.New()
	c.ObserveConfig(content.NewConfigMap(objecttest.ConfigMap("web", objecttest.ManyKeys(20, "1"))), objecttest.Noon)
	c.ObserveConfig(content.NewConfigMap(objecttest.ConfigMap("web", objecttest.ManyKeys(20, "2"))), objecttest.NoonPlus(10))
	config := c.Config(objecttest.ConfigMapRef("web"))
	for i := range n {
		d := objecttest.Deployment(reads(i))
		d.Name = fmt.Sprintf("deployment-%05d", i)
		w := catalogtest.MustWorkload(d)
		catalogtest.WriteRecord(d, record.Checksums{objecttest.ConfigMapRef("web"): config.Checksum(content.Selections(w.References), catalogtest.TestKey)}, objecttest.NoonPlus(20))
		w = catalogtest.MustWorkload(d)
		w.Rollout = whole
		c.ObserveWorkload(w)
	}
	return c, config.Edits[0].Seen
}

func TestTheCostOfFindingRunningReadersIsLinearInTheReaders(t *testing.T) {
	c, moment := readersOfWeb(1000, func(int) corev1.Container { return objecttest.ReadsAll("web", false) })
	allocations := testing.AllocsPerRun(5, func() {
		if got, _ := c.Running(objecttest.ConfigMapRef("web"), moment); len(got) != 1000 {
			t.Fatalf("%d run", len(got))
		}
	})
	if allocations > 1100 { // one for each reader
		t.Errorf("%v allocations", allocations)
	}
}

func BenchmarkRunningAmong10000Readers(b *testing.B) {
	keys := content.NewConfigMap(objecttest.ConfigMap("web", objecttest.ManyKeys(20, "2"))).Keys.Names()
	for name, reads := range map[string]func(int) corev1.Container{
		"all keys": func(int) corev1.Container { return objecttest.ReadsAll("web", false) },
		"one key":  func(i int) corev1.Container { return objecttest.ReadsKey("web", keys[i%len(keys)], false) },
	} {
		b.Run(name, func(b *testing.B) {
			c, moment := readersOfWeb(10_000, reads)
			b.ReportAllocs()
			for b.Loop() {
				if got, _ := c.Running(objecttest.ConfigMapRef("web"), moment); len(got) != 10_000 {
					b.Fatalf("%d run", len(got))
				}
			}
		})
	}
}

func TestADeliveredWorkloadThatLacksPodsAsBeforeRunsWithTheContent(t *testing.T) {
	edited := objecttest.ConfigMap("web", objecttest.Data{"a": "1"})
	edited.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(20), "f:data/f:a")}
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.listed(edited)
	s.caughtUp(30, func(w *workload.Workload) {
		w.Record.Ran = record.AllBut(1)
		w.Rollout = workload.Rollout{Wanted: 3, Updated: 3, Available: 2, Observed: true}
	}, "web")
	if running, failed := s.catalog.Running(objecttest.ConfigMapRef("web"), 0); len(running) != 1 || len(failed) != 0 {
		t.Errorf("running %v, failed %v", running, failed)
	}
}
