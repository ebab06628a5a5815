package brief

import (
	"strings"
	"testing"
)

func TestALineOfOthersIsOneVisibleLine(t *testing.T) {
	for text, want := range map[string]string{
		"it is  Friday": "it is  Friday",
		"denied the request: \n\nresource web:\n\tno\n": "denied the request: resource web: no",
		"a\u202eb\x1bc": `a\u202eb\u001bc`,
	} {
		if got := Line(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := Line(strings.Repeat("\x1b", maxText)); len(got) > maxText || !strings.HasSuffix(got, cutMark) {
		t.Errorf("%d bytes", len(got))
	}
}
