package catalog

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

var whole = Rollout{Wanted: 3, Updated: 3, Available: 3, Observed: true}

// caughtUp shows that the Deployment runs, and that its record of the present content was written at
// the given time, with a restart for the named ConfigMaps.
func (s *story) caughtUp(seconds float64, change func(*Workload), restartedFor ...string) {
	view, _ := s.catalog.View(deploymentRef("web"))
	checksums := view.currentChecksums(view.sights(), false)
	writeRecord(s.deployment, checksums, noonPlus(seconds))
	w := s.reduced()
	w.Rollout = whole
	for _, name := range restartedFor {
		w.Applied.RestartedFor = append(w.Applied.RestartedFor, Restarted{Config: configMapRef(name)})
	}
	change(&w)
	s.catalog.ObserveWorkload(w)
}

func unchanged(*Workload) {}

func TestAReaderRunsWithTheContentOfAnEditOnlyIfAllOfItShows(t *testing.T) {
	for name, test := range map[string]struct {
		reads corev1.Container
		after func(*Workload)
		edit  data // another one, after the workload has caught up
		want  bool
	}{
		"it does":                           {want: true},
		"as the record of another process":  {after: func(w *Workload) { w.OwnRecord = false }, want: true},
		"pods are missing":                  {after: func(w *Workload) { w.Rollout.Available = 2 }},
		"it wants no pods":                  {after: func(w *Workload) { w.Idle = true }},
		"it is paused":                      {after: func(w *Workload) { w.Hold = Paused }},
		"it is being deleted":               {after: func(w *Workload) { w.Deleting = true }},
		"its record is not trusted":         {after: func(w *Workload) { w.Applied.Trusted = false }},
		"its restart was reverted":          {after: func(w *Workload) { w.Applied.Reverted = &Revert{} }},
		"the config is not recorded":        {after: func(w *Workload) { delete(w.Applied.Checksums, configMapRef("web")) }},
		"other content is recorded":         {after: func(w *Workload) { w.Applied.Checksums[configMapRef("web")]++ }},
		"it reads only the edited key":      {reads: readsKey("web", "a", false), want: true},
		"it reads only another key":         {reads: readsKey("web", "b", false)},
		"another key that it reads changed": {edit: data{"a": "2", "b": "2"}},
		"another key that it does not read": {reads: readsKey("web", "a", false), edit: data{"a": "2", "b": "2"}, want: true},
		"the edited key changed again":      {edit: data{"a": "3", "b": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.reads.Name == "" {
				test.reads = readsAll("web", false)
			}
			if test.after == nil {
				test.after = unchanged
			}
			s := begin(deployment(test.reads))
			s.listed(configMap("web", data{"a": "1", "b": "1"}))
			s.config("web", data{"a": "2", "b": "1"}, 20)
			moment := s.momentOf("a")
			s.caughtUp(30, test.after)
			if test.edit != nil {
				s.config("web", test.edit, 40)
			}
			if got, _ := s.catalog.Running(configMapRef("web"), moment); (len(got) == 1) != test.want {
				t.Errorf("running: %v", got)
			}
			if got, _ := s.catalog.Running(configMapRef("web"), moment+100); got != nil {
				t.Errorf("running for a moment without edits: %v", got)
			}
			s.deleted("web", 50)
			if got, _ := s.catalog.Running(configMapRef("web"), moment); got != nil {
				t.Errorf("running with a config that is gone: %v", got)
			}
		})
	}
}

func TestAReaderRunsWithWhatNoWatchShowedIfItsLastRestartWasForIt(t *testing.T) {
	edited := configMap("web", data{"a": "1"})
	edited.ManagedFields = []metav1.ManagedFieldsEntry{owns("kubectl", noonPlus(20), "f:data/f:a")}
	neverEdited := configMap("web", data{"a": "1"})
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
			s := begin(deployment(readsAll("web", false)))
			s.listed(test.config)
			s.caughtUp(test.written, unchanged, test.restartedFor...)
			if got, _ := s.catalog.Running(configMapRef("web"), 0); (len(got) == 1) != test.want {
				t.Errorf("running: %v", got)
			}
			s.config("web", data{"a": "1", "b": "2"}, 40)
			if got, _ := s.catalog.Running(configMapRef("web"), 0); got != nil {
				t.Errorf("running after another edit: %v", got)
			}
		})
	}
}

func TestAReaderOfASecretRunsWithItOnlyIfTheKeyShowsThat(t *testing.T) {
	d := deployment(readsSecret("tls"))
	s := begin(d)
	s.catalog.SetKey(testKey)
	s.listed()
	s.catalog.ObserveConfig(NewSecret(secret("tls", data{"a": "1"})), noonPlus(10))
	s.caughtUp(20, unchanged)
	moment := s.catalog.config(secretRef("tls")).Appeared
	for _, test := range []struct {
		name string
		key  ChecksumKey
		want int
	}{
		{"the key of the record", testKey, 1},
		{"another key", NewChecksumKey([ChecksumKeySize]byte{1}), 0},
		{"no key", ChecksumKey{}, 0},
	} {
		s.catalog.SetKey(test.key)
		if got, _ := s.catalog.Running(secretRef("tls"), moment); len(got) != test.want {
			t.Errorf("%s: running %v", test.name, got)
		}
	}
	s.catalog.workload(deploymentRef("web")).Applied.Key = "" // forged, with the checksum that no key makes
	s.catalog.workload(deploymentRef("web")).Applied.Checksums[secretRef("tls")] = 0
	if got, _ := s.catalog.Running(secretRef("tls"), moment); got != nil {
		t.Errorf("running by a forged checksum: %v", got)
	}
}

// isRunning is what Running promises, of one workload and in the obvious way.
func isRunning(view View, config *Config, moment Sequence) bool {
	w, last, unseen := view.Workload, config.creation().At, false
	for _, edit := range config.Edits {
		if edit.Seen == 0 && (!unseen || edit.At.After(last)) {
			last, unseen = edit.At, true
		}
	}
	isFor := slices.ContainsFunc(w.Applied.RestartedFor, func(r Restarted) bool { return r.Config == config.Ref })
	takesPart := moment == 0 && isFor && !w.Applied.Written.Before(last.Truncate(time.Second))
	for _, edit := range append(slices.Clone(config.Edits), config.creation()) {
		for _, r := range w.References {
			takesPart = takesPart || moment > 0 && edit.Seen == moment && r.Config == config.Ref && config.isVisible(edit, r.Keys)
		}
	}
	sights := view.sights()
	same := slices.ContainsFunc(sights, func(s sight) bool { return s.ref == config.Ref && view.isRecordedSame(&s) })
	return takesPart && same && w.Applied.Reverted == nil && !w.Idle
}

func TestRunningReadersAreThoseWhoseRecordsAndReferencesSaySo(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		known := w.catalog.workload(deploymentRef("web"))
		known.Rollout = whole
		for _, ref := range known.Configs() {
			if rapid.Bool().Draw(t, "restarted for it") {
				known.Applied.RestartedFor = append(known.Applied.RestartedFor, Restarted{Config: ref})
			}
		}
		view, _ := w.catalog.View(deploymentRef("web"))
		for _, ref := range known.Configs() {
			config := view.present(ref)
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

func TestAContentIDIsThatOfTheNamedKeys(t *testing.T) {
	c := New()
	web, tls := configMapRef("web"), secretRef("tls")
	id := func(ref ConfigRef, content data, keys ...string) string {
		if ref.Kind.IsSecret() {
			c.ObserveConfig(NewSecret(secret(ref.Name, content)), noon)
		} else {
			c.ObserveConfig(NewConfigMap(configMap(ref.Name, content)), noon)
		}
		return c.ContentID(ref, keys)
	}
	if got := c.ContentID(web, nil); got != "" {
		t.Errorf("of a config that does not exist: %q", got)
	}
	if got := id(tls, data{"a": "1"}); got != "" {
		t.Errorf("of a Secret without the key: %q", got)
	}
	c.SetKey(testKey)
	for _, ref := range []ConfigRef{web, tls} {
		of := id(ref, data{"a": "1", "b": "1"}, "b", "a")
		if len(of) != 16 {
			t.Errorf("%s: %q is not 16 digits", ref, of)
		}
		for name, same := range map[string]string{
			"all keys":         id(ref, data{"a": "1", "b": "1"}),
			"in another order": id(ref, data{"a": "1", "b": "1"}, "a", "b", "a"),
			"other keys, too":  id(ref, data{"a": "1", "b": "1", "c": "1"}, "a", "b"),
			"missing keys":     id(ref, data{"a": "1", "b": "1"}, "a", "b", "c"),
		} {
			if same != of {
				t.Errorf("%s: %s: %q, want %q", ref, name, same, of)
			}
		}
		for name, other := range map[string]string{
			"another content": id(ref, data{"a": "1", "b": "2"}, "a", "b"),
			"a key is gone":   id(ref, data{"a": "1"}, "a", "b"),
			"all keys":        id(ref, data{"a": "1", "b": "1", "c": "1"}),
			"fewer keys":      id(ref, data{"a": "1", "b": "1"}, "a"),
		} {
			if other == of {
				t.Errorf("%s: %s: also %q", ref, name, other)
			}
		}
	}
	if id(secretRef("mine"), data{"a": "1"}) == id(tls, data{"a": "1"}) {
		t.Error("a Secret with a guess shows whether it is right")
	}
	if got, plain := id(tls, data{"a": "1"}), NewSecret(secret("tls", data{"a": "1"})); got == setChecksum(plain.Keys).String() {
		t.Error("the id of a Secret's content is made without the key")
	}
	c.ObserveWorkload(mustWorkload(deployment(readsAll("web", false))))
	c.ForgetConfig(web, noon)
	if got := c.ContentID(web, nil); got != "" {
		t.Errorf("of a config that is gone: %q", got)
	}
}

// readersOfWeb is a catalog with n whole Deployments that run with the last edit of the ConfigMap web.
func readersOfWeb(n int, reads func(i int) corev1.Container) (*Catalog, Sequence) {
	c := New()
	c.ObserveConfig(NewConfigMap(configMap("web", manyKeys(20, "1"))), noon)
	c.ObserveConfig(NewConfigMap(configMap("web", manyKeys(20, "2"))), noonPlus(10))
	config := c.config(configMapRef("web"))
	for i := range n {
		d := deployment(reads(i))
		d.Name = fmt.Sprintf("deployment-%05d", i)
		w := mustWorkload(d)
		writeRecord(d, Checksums{configMapRef("web"): config.Checksum(selections(w.References), testKey)}, noonPlus(20))
		w = mustWorkload(d)
		w.Rollout = whole
		c.ObserveWorkload(w)
	}
	return c, config.Edits[0].Seen
}

func TestTheCostOfFindingRunningReadersIsLinearInTheReaders(t *testing.T) {
	c, moment := readersOfWeb(1000, func(int) corev1.Container { return readsAll("web", false) })
	allocations := testing.AllocsPerRun(5, func() {
		if got, _ := c.Running(configMapRef("web"), moment); len(got) != 1000 {
			t.Fatalf("%d run", len(got))
		}
	})
	if allocations > 1100 { // one for each reader
		t.Errorf("%v allocations", allocations)
	}
}

func BenchmarkRunningAmong10000Readers(b *testing.B) {
	keys := NewConfigMap(configMap("web", manyKeys(20, "2"))).Keys
	for name, reads := range map[string]func(int) corev1.Container{
		"all keys": func(int) corev1.Container { return readsAll("web", false) },
		"one key":  func(i int) corev1.Container { return readsKey("web", keys[i%len(keys)].Name, false) },
	} {
		b.Run(name, func(b *testing.B) {
			c, moment := readersOfWeb(10_000, reads)
			b.ReportAllocs()
			for b.Loop() {
				if got, _ := c.Running(configMapRef("web"), moment); len(got) != 10_000 {
					b.Fatalf("%d run", len(got))
				}
			}
		})
	}
}
