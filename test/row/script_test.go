package row

import (
	"fmt"
	"strings"
)

// String describes the world.
func (w *world) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "A=%d B=%d", w.values[0], w.values[1])
	for i := range w.workloads {
		s := &w.workloads[i]
		r := w.table.rows[refs[i]]
		fmt.Fprintf(&b, " | %s %s", refs[i].Name, [...]string{"settled", "writing", "uncertain", "rolling", "failed", "inconclusive"}[r.state])
		for _, c := range r.contents {
			fmt.Fprintf(&b, " %s%s", c.Config.Name, c.ID)
		}
		if r.due != nil {
			fmt.Fprintf(&b, " due")
		}
		if r.base+r.missing > 0 {
			fmt.Fprintf(&b, " %d/%d", r.base, r.base+r.missing)
		}
		b.WriteString(" [")
		for _, p := range s.pods {
			if p.exists {
				old := ""
				if p.isOld {
					old = "'"
				}
				fmt.Fprintf(&b, " %s%s%d%d%s", [...]string{"", "s", "b"}[p.template], [...]string{"p", "s", "r", "u", "C"}[p.state], p.reads[0], p.reads[1], old)
			}
		}
		b.WriteString(" ]")
	}
	for _, h := range w.table.halts {
		fmt.Fprintf(&b, " halt %s%s", h.Content.Config.Name, h.Content.ID)
	}
	return b.String()
}

// script returns what has happened, without the ticks in which nothing did.
func script(path *step, all []event, byEviction bool) string {
	var steps []int
	for ; path != nil; path = path.former {
		steps = append(steps, path.event)
	}
	w := newWorld(byEviction)
	var b strings.Builder
	last := ""
	for i := len(steps) - 1; i >= 0; i-- {
		now := w.now
		if steps[i] == tick {
			w.tick()
		} else {
			fmt.Fprintf(&b, "   %s\n", all[steps[i]].name)
			all[steps[i]].do(w)
		}
		if text := w.String(); w.now > now && text != last {
			fmt.Fprintf(&b, "%2d %s\n", w.now, text)
			last = text
		}
	}
	return b.String()
}
