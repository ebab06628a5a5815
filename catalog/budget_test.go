package catalog

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

var usual = Spacing{Grace: 5 * time.Second, Limit: 10 * time.Minute}

// restartsWhenever plays a config that changes at these times, and returns when the
// workload is restarted for it. A change that comes while a restart waits goes with
// that one.
func restartsWhenever(s Spacing, changes ...time.Duration) []time.Duration {
	var restarts []time.Duration
	var b Budget
	for _, change := range changes {
		if len(restarts) > 0 && change <= restarts[len(restarts)-1] {
			continue
		}
		at := change + b.Wait(s, noon.Add(change))
		b = b.Spend(s, noon.Add(at))
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
	got := gaps(restartsWhenever(usual, every(s, time.Hour)...))[:11]
	want := []time.Duration{s, s, 5 * s, 10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 320 * s, 600 * s, 600 * s}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheSpacingFollowsAConfigThatChangesSlowly(t *testing.T) {
	for name, test := range map[string]struct {
		spacing Spacing
		period  time.Duration
		want    int // restarts in a day
	}{
		"every 15 minutes: a calm lies between any two": {usual, 15 * time.Minute, 96},
		"every 30 seconds: as good as all the time":     {usual, 30 * time.Second, 153},
		"every 10 seconds":                              {usual, 10 * time.Second, 153},
		"without a limit":                               {Spacing{Grace: 5 * time.Second}, 10 * time.Second, 8640},
	} {
		t.Run(name, func(t *testing.T) {
			if got := len(restartsWhenever(test.spacing, every(test.period, 24*time.Hour)...)); got != test.want {
				t.Errorf("%d restarts in a day, want %d", got, test.want)
			}
		})
	}
}

func TestAPauseWithoutChangesEndsASeriesOfRestarts(t *testing.T) {
	row := Budget{Restarts: 5, Last: noon} // 20 seconds of spacing
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
			if got := row.Spend(usual, noonPlus(test.seconds)); got != (Budget{test.want, noonPlus(test.seconds)}) {
				t.Errorf("got %+v, want %d restarts", got, test.want)
			}
		})
	}
}

func TestWithoutAGracePeriodTheSpacingBeginsWithASecond(t *testing.T) {
	if got := (Budget{freeRestarts + 1, noon}).Wait(Spacing{Limit: time.Hour}, noon); got != 2*time.Second {
		t.Errorf("waits %s, want 2s", got)
	}
}

// The clock of the controller may jump, and another controller may have another.
func TestNoClockDelaysARestartForLongerThanTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Spacing{
			Grace: time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "grace")),
			Limit: time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "limit")),
		}
		b := Budget{
			Restarts: rapid.IntRange(-1, 1<<62).Draw(t, "restarts"),
			Last:     noonPlus(rapid.Float64Range(-1e9, 1e9).Draw(t, "last")),
		}
		if wait := b.Wait(s, noon); wait < 0 || wait > s.Limit {
			t.Fatalf("waits %s with a limit of %s", wait, s.Limit)
		}
	})
	if wait := (Budget{10, noonPlus(3600)}).Wait(usual, noon); wait != 0 {
		t.Errorf("waits %s for a restart that is yet to come", wait)
	}
	if wait := (Budget{10, noonPlus(5)}).Wait(usual, noon); wait != usual.Limit {
		t.Errorf("waits %s though the clock of the last restart was ahead by 5s only", wait)
	}
}

func TestABudgetIsReadFromTheWorkloadIfItIsTheControllersOwn(t *testing.T) {
	spent := Budget{Restarts: 4, Last: noonPlus(60)}
	recorded := func() *metav1.ObjectMeta {
		annotations, err := Checksums{configMapRef("web"): 1}.Annotations(Basis{Template: Fingerprint{7}, Budget: spent, Written: noonPlus(90)})
		if err != nil {
			t.Fatal(err)
		}
		return &metav1.ObjectMeta{
			Annotations:   annotations,
			ManagedFields: []metav1.ManagedFieldsEntry{owns(FieldManager, noonPlus(90), annotationField(BasisAnnotation))},
		}
	}
	for name, test := range map[string]struct {
		change func(*metav1.ObjectMeta)
		want   Budget
	}{
		"as written":               {func(*metav1.ObjectMeta) {}, spent},
		"brought by somebody else": {func(meta *metav1.ObjectMeta) { meta.ManagedFields[0].Manager = "kubectl" }, Budget{}},
		"of another scheme": {func(meta *metav1.ObjectMeta) {
			meta.Annotations[BasisAnnotation] = `{"scheme":"x","restarts":4,"restarted":"2026-03-01T12:01:00Z"}`
		}, spent},
		"beside checksums that are broken": {func(meta *metav1.ObjectMeta) { meta.Annotations[ChecksumsAnnotation] = "{" }, spent},
		"nonsense":                         {func(meta *metav1.ObjectMeta) { meta.Annotations[BasisAnnotation] = `{"restarts":"many"}` }, Budget{}},
	} {
		t.Run(name, func(t *testing.T) {
			meta := recorded()
			test.change(meta)
			if diff := cmp.Diff(test.want, readRecord(meta, ownershipOf(meta), noTemplate, Fingerprint{7}).Budget); diff != "" {
				t.Error(diff)
			}
			if other := readRecord(meta, ownershipOf(meta), noTemplate, Fingerprint{8}); other.Trusted || other.Budget != test.want {
				t.Errorf("with another template: %+v", other)
			}
		})
	}
}
