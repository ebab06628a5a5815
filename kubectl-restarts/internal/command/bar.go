package command

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// bar shows on a terminal how far a wait has come.
type bar struct {
	out     io.Writer // nil if it is no terminal
	isDrawn bool
}

// newBar returns a bar that nobody sees if out is no terminal.
func newBar(out io.Writer) *bar {
	if file, isFile := out.(*os.File); isFile && term.IsTerminal(int(file.Fd())) {
		return &bar{out: out}
	}
	return &bar{}
}

// barWidth is how many characters the bar has.
const barWidth = 30

func (b *bar) draw(done, all int) {
	if b.out == nil || all == 0 {
		return
	}
	b.clear()
	full := barWidth * done / all
	fmt.Fprintf(b.out, "[%s%s] %d of %d pods", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), done, all)
	b.isDrawn = true
}

// clear removes the bar, before other lines.
func (b *bar) clear() {
	if b.isDrawn {
		fmt.Fprint(b.out, "\r\x1b[K")
		b.isDrawn = false
	}
}
