package rollout

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func FuzzPlan(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(checkAnyPlan))
}

func FuzzAppendRevision(f *testing.F) {
	f.Add("", "1")
	f.Add("1,3", "5")
	f.Add(strings.Repeat("22,", 666), "4")
	f.Add(",,,", ",")
	f.Fuzz(func(t *testing.T, history, revision string) {
		got := appendRevision(history, revision)
		if !strings.HasSuffix(got, revision) {
			t.Errorf("%q appended to %q is %q", revision, history, got)
		}
		if len(got) > maxHistoryLength && strings.Contains(got, ",") {
			t.Errorf("%d characters", len(got))
		}
		if whole := history + "," + revision; history != "" && len(whole) <= maxHistoryLength && got != whole {
			t.Errorf("%q of %q is lost", whole, got)
		}
	})
}

func FuzzRevisionOf(f *testing.F) {
	for _, text := range []string{"", "1", "-1", "x", "99999999999999999999", "+7", " 1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := web(3, "v1")
		present := map[string]string{RevisionAnnotation: text}
		changes := annotationsOfNew(d, present, 5)
		revision, ok := revisionOf(present)
		switch _, changed := changes[RevisionAnnotation]; {
		case !ok && changes != nil:
			t.Errorf("somebody else's revision %q is changed: %v", text, changes)
		case ok && changed != (revision < 5):
			t.Errorf("revision %q: %v", text, changes)
		}
	})
}
