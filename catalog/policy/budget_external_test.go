package policy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
)

// restartsWhenever plays a config that changes at these times, and returns when the
// workload is restarted for it. A change that comes while a restart waits goes with
// that one.
func restartsWhenever(s policy.Spacing, changes ...time.Duration) []time.Duration {
	var restarts []time.Duration
	var b policy.Budget
	for _, change := range changes {
		if len(restarts) > 0 && change <= restarts[len(restarts)-1] {
			continue
		}
		at := change + b.Wait(s, objecttest.Noon.Add(change))
		b = b.Spend(s, objecttest.Noon.Add(at))
		restarts = append(restarts, at)
	}
	return restarts
}

// every is a change in each period, for a while.
func every(period, while time.Duration) []time.Duration {
	var changes []time.Duration
	for at := time.Duration(0); at < while; at += period {
		changes = append(changes, at)
	}
	return changes
}

func gaps(times []time.Duration) []time.Duration {
	var between []time.Duration
	for i := 1; i < len(times); i++ {
		between = append(between, times[i]-times[i-1])
	}
	return between
}

func TestTheSpacingOfRestartsDoublesUpToTheLimitWhileAConfigKeepsChanging(t *testing.T) {
	const s = time.Second
	got := gaps(restartsWhenever(catalogtest.Usual, every(s, time.Hour)...))[:11]
	want := []time.Duration{s, s, 5 * s, 10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 320 * s, 600 * s, 600 * s}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheSpacingFollowsAConfigThatChangesSlowly(t *testing.T) {
	for name, test := range map[string]struct {
		spacing policy.Spacing
		period  time.Duration
		want    int // restarts in a day
	}{
		"every 15 minutes: a calm lies between any two": {catalogtest.Usual, 15 * time.Minute, 96},
		"every 30 seconds: as good as all the time":     {catalogtest.Usual, 30 * time.Second, 153},
		"every 10 seconds":                              {catalogtest.Usual, 10 * time.Second, 153},
		"without a limit":                               {policy.Spacing{Grace: 5 * time.Second}, 10 * time.Second, 8640},
	} {
		t.Run(name, func(t *testing.T) {
			if got := len(restartsWhenever(test.spacing, every(test.period, 24*time.Hour)...)); got != test.want {
				t.Errorf("%d restarts in a day, want %d", got, test.want)
			}
		})
	}
}

func TestAPauseWithoutChangesEndsASeriesOfRestarts(t *testing.T) {
	row := policy.Budget{Restarts: 5, Last: objecttest.Noon} // 20 seconds of spacing
	for name, test := range map[string]struct {
		seconds float64
		want    int
	}{
		"at the end of the spacing":  {20, 6},
		"before a limit has passed":  {620, 6},
		"after a limit of calm":      {621, 1},
		"before anything has passed": {0, 6},
	} {
		t.Run(name, func(t *testing.T) {
			if got := row.Spend(catalogtest.Usual, objecttest.NoonPlus(test.seconds)); got != (policy.Budget{test.want, objecttest.NoonPlus(test.seconds)}) {
				t.Errorf("got %+v, want %d restarts", got, test.want)
			}
		})
	}
}

// The clock of the controller may jump, and another controller may have another.
func TestNoClockDelaysARestartForLongerThanTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := policy.Spacing{
			Grace: time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "grace")),
			Limit: time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "limit")),
		}
		b := policy.Budget{
			Restarts: rapid.IntRange(-1, 1<<62).Draw(t, "restarts"),
			Last:     objecttest.NoonPlus(rapid.Float64Range(-1e9, 1e9).Draw(t, "last")),
		}
		if wait := b.Wait(s, objecttest.Noon); wait < 0 || wait > s.Limit {
			t.Fatalf("waits %s with a limit of %s", wait, s.Limit)
		}
	})
	if wait := (policy.Budget{10, objecttest.NoonPlus(3600)}).Wait(catalogtest.Usual, objecttest.Noon); wait != 0 {
		t.Errorf("waits %s for a restart that is yet to come", wait)
	}
	if wait := (policy.Budget{10, objecttest.NoonPlus(5)}).Wait(catalogtest.Usual, objecttest.Noon); wait != catalogtest.Usual.Limit {
		t.Errorf("waits %s though the clock of the last restart was ahead by 5s only", wait)
	}
}

func TestABudgetIsReadFromTheWorkloadIfItIsTheControllersOwn(t *testing.T) {
	spent := policy.Budget{Restarts: 4, Last: objecttest.NoonPlus(60)}
	recorded := func() *metav1.ObjectMeta {
		annotations, err := record.Checksums{objecttest.ConfigMapRef("web"): 1}.Annotations(record.Basis{Template: record.Fingerprint{7}, Budget: spent, Written: objecttest.NoonPlus(90)})
		if err != nil {
			t.Fatal(err)
		}
		return &metav1.ObjectMeta{
			Annotations:   annotations,
			ManagedFields: []metav1.ManagedFieldsEntry{objecttest.Owns(annotation.FieldManager, objecttest.NoonPlus(90), objecttest.AnnotationField(annotation.BasisAnnotation))},
		}
	}
	for name, test := range map[string]struct {
		change func(*metav1.ObjectMeta)
		want   policy.Budget
	}{
		"as written":               {func(*metav1.ObjectMeta) {}, spent},
		"brought by somebody else": {func(meta *metav1.ObjectMeta) { meta.ManagedFields[0].Manager = "kubectl" }, policy.Budget{}},
		"of another scheme": {func(meta *metav1.ObjectMeta) {
			meta.Annotations[annotation.BasisAnnotation] = `{"scheme":"x","restarts":4,"restarted":"2026-03-01T12:01:00Z"}`
		}, spent},
		"beside checksums that are broken": {func(meta *metav1.ObjectMeta) { meta.Annotations[annotation.ChecksumsAnnotation] = "{" }, spent},
		"nonsense":                         {func(meta *metav1.ObjectMeta) { meta.Annotations[annotation.BasisAnnotation] = `{"restarts":"many"}` }, policy.Budget{}},
	} {
		t.Run(name, func(t *testing.T) {
			meta := recorded()
			test.change(meta)
			if diff := cmp.Diff(test.want, catalogtest.First(record.ReadRecord(meta, annotation.OwnershipOf(meta), objecttest.NoTemplate, record.Fingerprint{7})).Budget); diff != "" {
				t.Error(diff)
			}
			if other, _ := record.ReadRecord(meta, annotation.OwnershipOf(meta), objecttest.NoTemplate, record.Fingerprint{8}); other.Trusted || other.Budget != test.want {
				t.Errorf("with another template: %+v", other)
			}
		})
	}
}
