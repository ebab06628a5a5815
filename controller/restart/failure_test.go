package restart

import (
	"errors"
	"testing"
)

func TestAnErrorIsIgnoredIfItContainsAText(t *testing.T) {
	r := NewRestarter(Parts{IgnoredErrors: []string{"[restarts] are frozen (see policy.*)", "(", "\xff"}}, nil)
	for text, want := range map[string]bool{
		"patch web: [restarts] are frozen (see policy.*)": true,
		"restarts are frozen, see policy 7":               false, // a text is no pattern
		"patch web (twice)":                               true,
		"not UTF-8: \xff":                                 true,
	} {
		if got := r.isIgnored(errors.New(text)); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
	if NewRestarter(Parts{}, nil).isIgnored(errors.New("any")) {
		t.Error("an error is ignored without a text")
	}
}
