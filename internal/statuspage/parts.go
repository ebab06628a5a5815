package statuspage

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"kubernetes-deployment-restart-controller/internal/status"
)

// each shows values one after the other. It makes the nodes of one at a time, since there may be many.
func each[T any](values []T, show func(*T) g.Node) g.Node {
	return g.NodeFunc(func(out io.Writer) error {
		for i := range values {
			if err := show(&values[i]).Render(out); err != nil {
				return err
			}
		}
		return nil
	})
}

// when returns a text if a condition holds.
func when(holds bool, text string) string {
	if holds {
		return text
	}
	return ""
}

// after returns a text after what leads to it; nothing if there is no text.
func after(before, text string) string { return when(text != "", before+text) }

// link leads to a page of this process. Its path begins with a slash, and may have any characters.
func link(path, text string) g.Node {
	return h.A(h.Href(escaped(path)), g.Text(text))
}

// escaped returns a path as it stands in addresses.
func escaped(path string) string { return (&url.URL{Path: path}).EscapedPath() }

func workloadLink(name string) g.Node { return link("/workload/"+name, name) }

func configLink(name string) g.Node { return link("/config/"+name, name) }

// linksToLists lead to all that is in a namespace.
func linksToLists(namespace string) g.Node {
	path := "/namespace/" + namespace
	return g.Group{link(path+"/workloads", "workloads"), g.Text(" and "), link(path+"/configs", "configs")}
}

func section(id, title string, content ...g.Node) g.Node {
	return h.Section(h.ID(id), h.H2(g.Text(title)), g.Group(content))
}

// command shows a command to copy.
func command(line string) g.Node { return h.Pre(h.Code(g.Text(line))) }

func note(text string) g.Node { return h.P(h.Class("note"), g.Text(text)) }

func badCard(text string) g.Node { return h.P(h.Class("card bad"), g.Text(text)) }

// beside shows a text in small letters after another one.
func beside(text string) g.Node {
	return g.Group{g.Text(" "), h.Span(h.Class("pods"), g.Text(text))}
}

// fact is an element of a list of facts.
func fact(term string, content ...g.Node) g.Node {
	return g.Group{h.Dt(g.Text(term)), h.Dd(content...)}
}

func gaps(all []status.Gap) g.Node {
	return each(all, func(gap *status.Gap) g.Node {
		text := gap.Text
		if !gap.Since.IsZero() {
			text += fmt.Sprintf(", %ssince %s (%s)", when(gap.AtLeast, "at least "), at(gap.Since), ago(gap.Since))
		}
		return h.P(h.Class("card bad gap"), h.Strong(g.Text(text+".")), g.Text(when(gap.Why != "", " "+gap.Why+".")+after(" ", gap.Remedy)))
	})
}

func barOf(b bar) g.Node {
	return h.SVG(h.Class("bar"), g.Attr("viewBox", "0 0 100 10"), g.Attr("preserveAspectRatio", "none"), described(b.Label),
		rect("ground", "100", "10"),
		each(b.Segments, func(s *segment) g.Node { return rect(s.Class, fmt.Sprint(s.Width), "10", g.Attr("x", fmt.Sprint(s.X))) }))
}

func gridOf(picture grid) g.Node {
	width, height := strconv.Itoa(picture.Width), strconv.Itoa(picture.Height)
	return h.SVG(h.Class("grid"), g.Attr("viewBox", "0 0 "+width+" "+height), h.Width(width), h.Height(height), described(picture.Label),
		each(picture.Squares, func(s *square) g.Node {
			return squareOf(s.Class, g.Attr("x", strconv.Itoa(s.X)), g.Attr("y", strconv.Itoa(s.Y)))
		}))
}

func legend(parts []tile) g.Node {
	return h.Ul(h.Class("legend"), each(parts, func(part *tile) g.Node {
		return h.Li(
			h.SVG(h.Class("mark"), h.Width("11"), h.Height("11"), h.Aria("hidden", "true"), squareOf(part.Class)),
			g.Text(" "+when(part.Count != 0, count(part.Count)+" ")+part.Name),
		)
	}))
}

// described gives a picture a label.
func described(label string) g.Node { return g.Group{h.Role("img"), h.Aria("label", label)} }

func rect(class, width, height string, place ...g.Node) g.Node {
	return g.El("rect", h.Class(class), g.Group(place), h.Width(width), h.Height(height))
}

func squareOf(class string, place ...g.Node) g.Node {
	return rect(class, "11", "11", append(place, g.Attr("rx", "2"))...)
}

// more says how many are left out, and perhaps where they are.
func more(left int, where ...g.Node) g.Node {
	return g.If(left > 0, h.P(h.Class("more"), g.Text("and "+count(left)+" more"), g.Group(where)))
}

func stateOf(state status.State) g.Node { return marked(string(state), string(state)) }

// marked shows a text with the color of a state.
func marked(class, text string) g.Node { return h.Span(h.Class("state "+class), g.Text(text)) }

func outcome(r *status.Restart) g.Node {
	if r.Outcome == "" {
		return marked("rolling", "under way")
	}
	return g.Group{marked(string(r.Outcome), string(r.Outcome)), g.Text(when(r.Took != 0, " after "+seconds(r.Took)) + after(": ", r.Why))}
}

// reason says why a restart may not begin.
func reason(e *status.Entry) g.Node {
	switch e.Reason {
	case "hold", "step":
		return g.Text(e.Text)
	case "halt":
		if e.On == "" {
			return g.Text(e.Text)
		}
		return g.Group{g.Text("the halt of "), configLink(e.On)}
	case "missing-config":
		return g.Group{h.Strong(g.Text(e.Text)), g.Text(e.Remedy.After(": no new pod could start"))}
	case "backoff":
		return g.Text("its configs keep changing")
	case "window":
		if e.Until.IsZero() {
			return g.Text(cmp.Or(e.Text, "its window") + " cannot be read")
		}
		return g.Text(cmp.Or(e.Text, "its window") + " is closed")
	case "wave":
		return g.Text("an earlier wave of its namespace")
	case "slow-start":
		return g.Group{g.Text("the slow start of "), configLink(e.On), g.Text(after(": ", e.Text))}
	case "eviction":
		return g.Text("no pod is evicted: " + e.Text)
	case "limit":
		return g.Text("as many restarts as allowed are under way")
	}
	return nil
}

// wait says what a workload waits for.
func wait(e *status.Entry) g.Node {
	if !e.Exposed {
		return waitAlone(e)
	}
	return g.Group{waitAlone(e), g.Text("; "), h.Strong(h.Class("exposed"), g.Text("its pods have read the new content already"))}
}

func waitAlone(e *status.Entry) g.Node {
	switch {
	case e.State == status.Retrying:
		return retrying(e)
	case e.Reason != "":
		return g.Group{reason(e), g.Text(when(e.OnlyRecord, e.Remedy.After("; "+e.Error)))}
	case e.State == status.Pending:
		return g.Text("more edits may follow" + after(" that of ", e.For))
	case e.State == status.Lacking:
		const without = ": without it, pods that run go on, but no new one can start"
		return g.Group{h.Strong(g.Text(e.Text)), g.Text(e.Remedy.After(without) + after("; ", e.Due))}
	case e.State == status.Failed:
		restarted := g.Text("restarted" + after(" ", ago(e.Restarted)) + after(" for ", e.For))
		return g.Group{restarted, g.If(e.Text != "", g.Group{g.Text(": "), h.Strong(g.Text(e.Text))})}
	case e.State == status.Unready:
		return g.Text(e.Remedy.After(e.Text))
	case e.State == status.LeftAlone:
		return g.Group{g.Text("no config change restarts it: "), h.Strong(g.Text(e.Text))}
	case e.State == status.Deciding:
		return g.Text(cmp.Or(e.Text, "a decision is due"))
	}
	return g.Text(after("restarted for ", e.For) + after("; the next eviction waits: ", e.Text))
}

func retrying(e *status.Entry) g.Node {
	attempts := fmt.Sprintf("; failed attempts: %s%d", when(e.AtLeast, "at least "), e.Attempts)
	said := g.Group{h.Strong(g.Text(e.Error)), g.Text(e.Remedy.After("") + attempts)}
	if e.Reason != "" {
		return append(said, g.Text("; the next one waits: "), reason(e))
	}
	return append(said, g.Text(after("; the next one waits: ", e.Text)))
}

// began says since when something is there; nothing if that is not known.
func began(b status.Beginning) string {
	if b.AtLeast {
		return after("at least since ", at(b.Since))
	}
	return ago(b.Since)
}

func mistake(m *status.Mistake) string {
	return m.Problem + when(!m.Since.IsZero(), " ("+began(m.Beginning)+")")
}
