package statuspage

import (
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"kubernetes-deployment-restart-controller/internal/status"
)

func workloadPage(w *status.Workload) g.Node {
	mayRestart := w.State != status.LeftAlone
	return g.Group{
		h.H1(g.Text(w.Workload)),
		gaps(w.Gaps),
		each(w.Mistakes, func(m *status.Mistake) g.Node {
			return badCard(when(m.Object != w.Workload, m.Object+": ") + mistake(m))
		}),
		each(w.Problems, func(problem *string) g.Node { return badCard(*problem) }),
		h.Dl(
			fact("State", stateOf(w.State), g.Iff(w.State != status.Settled, func() g.Node { return stateWithWait(w) })),
			fact("Decision", g.Text(w.Decision.Outcome+": "+w.Decision.Reason+when(w.Decision.Causes != "", " ("+w.Decision.Causes+")"))),
			g.Iff(w.Gate != nil, func() g.Node { return fact("Gate", gateOf(w)) }),
			g.Iff(w.Change != nil, func() g.Node { return fact("Change", change(w.Change)) }),
			fact("Last restart", lastRestart(w.Last)),
			g.If(mayRestart, fact("Record", g.Text(record(&w.Record)))),
			g.If(w.EnabledBy != "", fact("Enabled", g.Text("by "+w.EnabledBy))),
			g.Iff(w.Pods != nil, func() g.Node {
				outdated := when(w.Pods.Outdated != 0, ", "+strconv.Itoa(w.Pods.Outdated)+" outdated")
				return fact("Pods", g.Textf("%d of %d updated, %d available%s", w.Pods.Updated, w.Pods.Wanted, w.Pods.Available, outdated))
			}),
			g.If(w.ByHand != "", fact("By hand", g.Text(w.ByHand))),
			g.If(w.Method != "", fact("Method", g.Text(w.Method))),
			g.If(mayRestart, fact("Grace period", g.Textf("%v s", w.GracePeriod))),
			g.If(w.Wave != 0, fact("Wave", g.Text(strconv.Itoa(w.Wave)))),
			g.If(w.Window != "", fact("Window", h.Code(g.Text(w.Window)))),
		),
		g.If(w.Holds.Total != 0, holds(w.Holds)),
		g.If(mayRestart, reads(w.Reads)),
	}
}

// stateWithWait says what else is known of a state.
func stateWithWait(w *status.Workload) g.Node {
	since := ""
	switch {
	case w.AtLeast:
		since = ", " + began(w.Beginning)
	case !w.Since.IsZero() && w.State == status.Failed:
		since = ", failed " + ago(w.Since)
	case !w.Since.IsZero():
		since = ", began " + ago(w.Since)
	}
	return g.Group{g.Text(": "), wait(&w.Entry), g.Text(since + when(w.Error != "", after(", next attempt at ", at(w.Until))))}
}

func gateOf(w *status.Workload) g.Node {
	switch gate := w.Gate; {
	case gate.MayBegin && w.State == status.Deciding:
		return g.Text("nothing, once the controller can decide")
	case gate.MayBegin:
		return g.Text("the restart may begin" + when(w.Error != "" && !w.OnlyRecord, ", but its last attempt failed: see its state"))
	default:
		said := g.Group{g.Text("the restart may not begin yet" + after(" (", gate.Reason))}
		if gate.Reason != "" && gate.On != "" {
			said = append(said, g.Text(" of "), configLink(gate.On))
		}
		return append(said, g.Text(when(gate.Reason != "", ")")+after(": ", gate.Why)+after(", until ", at(gate.Until))))
	}
}

func change(c *status.Change) g.Node {
	return g.Group{g.Text("observed " + ago(c.Since) + ", due " + at(c.Due)), each(c.For, func(name *string) g.Node {
		return g.Group{g.Text(", "), configLink(*name)}
	})}
}

func lastRestart(r *status.Restart) g.Node {
	if r == nil {
		return g.Text("none is known")
	}
	return g.Group{
		g.Text(at(r.Time) + after(", for ", r.Cause)),
		g.If(r.Outcome != "", g.Group{g.Text(": "), outcome(r)}),
		g.If(r.Command != "", command(r.Command)),
	}
}

func record(r *status.Record) string {
	text := "not trusted: the start times of the pods decide"
	if r.Trusted {
		text = "trusted, written " + at(r.Written) + "; configs: " + strconv.Itoa(r.Configs)
	}
	return text + when(r.Reverted, "; the restart was reverted") + after("; ", r.Problem)
}

func reads(all status.List[status.Seen]) g.Node {
	title := "What its containers read: " + strconv.Itoa(all.Total)
	if all.Total == 0 {
		return section("reads", title, h.P(g.Text("No ConfigMap or Secret.")))
	}
	heads := []string{"Config", "Keys", "Read as", "Exists"}
	rows := each(all.Items, func(s *status.Seen) g.Node {
		exists, keys := existence(s.Exists), strconv.Itoa(s.KeyCount)
		if s.AllKeys {
			keys = "all" + when(exists == "yes", " "+keys)
		} else {
			keys += when(len(s.Keys) > 0, ": "+strings.Join(s.Keys, ", "))
		}
		return row(heads, configLink(s.Config), g.Text(keys), g.Text(s.ReadAs), g.Text(exists+when(s.Optional, ", optional")+when(s.Ignored, ", ignored")))
	})
	return section("reads", title, table("reads", heads, rows), more(all.More()))
}
