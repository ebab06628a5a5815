package show

import (
	"fmt"
	"strings"
)

// Ready reports whether all objects have been seen at least once, with a line for each watch. A kind that is not
// installed has a line, too, but nothing waits for it. A watch that breaks later does not make the controller unready:
// the controller continues with what it knows, and its metrics must stay reachable. Nor does an object that is left
// alone after an internal error, an object of its own that it cannot use, or a permission without which workloads do not
// restart; these also have a line.
func (b *Board) Ready() (bool, string) {
	ready := true
	var detail strings.Builder
	for _, w := range b.Watching.All {
		status := w.Status()
		ready = ready && (status.Synced || status.Missing)
		fmt.Fprintln(&detail, status)
	}
	for _, gap := range b.Gaps("") {
		fmt.Fprintln(&detail, gap.Line())
	}
	return ready, detail.String()
}
