package facts

import (
	"fmt"
	"io"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// maxGaps is how many gaps are printed.
const maxGaps = 10

// PrintGaps writes what is not known or does not work, before the rest of a report, without ages if the time is zero. It writes
// nothing if there are no gaps.
func PrintGaps(w io.Writer, gaps []status.Gap, now time.Time) {
	if len(gaps) == 0 {
		return
	}
	fmt.Fprintln(w, "What is not known, or does not work:")
	for i := range gaps[:min(len(gaps), maxGaps)] {
		fmt.Fprintln(w, "  "+text.Safe(DescribeGap(&gaps[i], now)))
	}
	if more := len(gaps) - maxGaps; more > 0 {
		fmt.Fprintf(w, "  and for %s\n", text.Count(more, "more reason"))
	}
	fmt.Fprintln(w)
}

// DescribeGap describes a gap in one line, without its age if the time is zero.
func DescribeGap(gap *status.Gap, now time.Time) string {
	description := gap.Text
	if !gap.Since.IsZero() {
		description += gap.Word() + "since " + gap.Since.UTC().Format(time.RFC3339)
		if now.After(gap.Since) {
			description += " (" + Age(now.Sub(gap.Since)) + " ago)"
		}
	}
	if gap.Why != "" {
		description += ": " + gap.Why
	}
	return strings.TrimSuffix(strings.TrimSuffix(description, ".")+". "+gap.Remedy, " ")
}
