package launcher

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLastLinesOfALog(t *testing.T) {
	long := strings.Repeat("x", lineBytes)
	tests := []struct {
		name, log string
		count     int
		want      []string
	}{
		{"empty", "", 3, nil},
		{"fewer lines than asked for", "a\nb\n", 3, []string{"a", "b"}},
		{"more lines than asked for", "a\nb\nc\nd\n", 3, []string{"b", "c", "d"}},
		{"no newline at the end", "a\nb", 1, []string{"b"}},
		{"blank lines do not count", "a\n\n \nb\r\n\n", 2, []string{"a", "b"}},
		{"long lines are shortened", long + "y\n", 1, []string{long + " …"}},
		{"only the end of a big log is read", strings.Repeat("a\n", tailBytes) + "b\n", 2, []string{"a", "b"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(file, []byte(test.log), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := lastLines(file, test.count)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %q, %v; want %q", got, err, test.want)
			}
		})
	}
}

func TestALineCutAtTheStartOfTheTailIsLeftOut(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, fmt.Appendf(nil, "%s\nlast\n", strings.Repeat("x", tailBytes)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := lastLines(file, 5); err != nil || !slices.Equal(got, []string{"last"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAMissingLogIsReported(t *testing.T) {
	if got := logTail(filepath.Join(t.TempDir(), "log")); !strings.Contains(got, "open log") {
		t.Errorf("got %q", got)
	}
}
