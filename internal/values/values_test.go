package values_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/internal/values"
)

func TestADurationHasAUnitOrCountsSeconds(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10": 10 * time.Second, "10s": 10 * time.Second, "1h30m": 90 * time.Minute, "0": 0, "010": 10 * time.Second,
		"1.5": 1500 * time.Millisecond, "-5": -5 * time.Second, " 2m\n": 2 * time.Minute,
	} {
		if got, err := values.Duration(text); got != want || err != nil {
			t.Errorf("%q: got %s, %v", text, got, err)
		}
	}
	if got, err := values.Milliseconds("500"); got != 500*time.Millisecond || err != nil {
		t.Errorf("milliseconds: got %s, %v", got, err)
	}
}

func TestWhatIsNoDurationIsNamedWithWhatIsAccepted(t *testing.T) {
	for _, text := range []string{"", " ", "soon", "1h30", "2 m", "1d", "1e3", "0x10", "-", ".", "9999999999h", "99999999999999999999"} {
		want := fmt.Sprintf("%q is not a duration such as 90s, 2m or 1h30m, or a number of seconds", text)
		if got, err := values.Duration(text); err == nil || err.Error() != want {
			t.Errorf("%q: got %s, %v", text, got, err)
		}
	}
	if _, err := values.Milliseconds("soon"); err == nil || err.Error() != `"soon" is not a duration such as 90s, 2m or 1h30m, or a number of milliseconds` {
		t.Error(err)
	}
}

func TestEveryDurationIsReadAsItIsPrinted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := time.Duration(rapid.Int64().Draw(t, "duration"))
		if got, err := values.Duration(want.String()); got != want || err != nil {
			t.Errorf("%s: got %s, %v", want, got, err)
		}
	})
}

func TestAListHasItsPartsBetweenCommasWithoutSpaces(t *testing.T) {
	for text, want := range map[string][]string{"a": {"a"}, "a,b": {"a", "b"}, " a , b,,c\n": {"a", "b", "c"}} {
		if got, err := values.List(text); !slices.Equal(got, want) || err != nil {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", " ", ",", " , "} {
		if got, err := values.List(text); err == nil || err.Error() != fmt.Sprintf("%q is not a list such as a,b", text) {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
}
