package statuspage

import (
	"slices"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"kubernetes-deployment-restart-controller/internal/status"
)

func overview(o *status.Overview) g.Node {
	if !o.Leads {
		return standby(o)
	}
	return g.Group{
		h.H1(g.Text("What is under way" + after(" in ", o.Namespace))),
		gaps(o.Gaps),
		g.If(o.DryRun, note("This is a dry run: nothing is restarted.")),
		g.If(o.AllHeld != "", h.Div(h.Class("card bad"), h.P(g.Text("All restarts are held: "+o.AllHeld)), command(status.ReleaseAllCommand))),
		tiles(o),
		g.If(o.Namespace != "", h.P(g.Text("All its "), linksToLists(o.Namespace))),
		totals(o),
		each(o.Kinds, kind),
		g.If(o.Halts.Total != 0, section("halts", "Halts", halts(o.Halts))),
		g.If(o.FanOuts.Total != 0, section("fanouts", "Fan-outs", fanOuts(o.FanOuts))),
		workloads(o, "failed", "Failed", o.Failed, status.Failed),
		workloads(o, "lacking", "Lack a config or key that new pods need", o.Lacking, status.Lacking),
		workloads(o, "retrying", "Could not be written or decided about, and are tried again", o.Retrying, status.Retrying),
		workloads(o, "unready", "Not all of their pods run", o.Unready, status.Unready),
		workloads(o, "alone", "Left alone, so no config change restarts them", o.LeftAlone, status.LeftAlone),
		workloads(o, "held", "Held", o.Held, status.Held),
		workloads(o, "rolling", "Rolling", o.Rolling, status.Rolling, status.Soaking),
		workloads(o, "waiting", "Due, not decided yet, or waiting for other restarts", o.Waiting, status.Deciding, status.Waiting),
		workloads(o, "slowed", "Slowed down", o.Slowed, status.Slowed),
		workloads(o, "pending", "In their grace period", o.Pending, status.Pending),
		g.If(o.Mistakes.Total != 0, section("mistakes", "Annotations that cannot be used", mistakes(o.Mistakes))),
		g.If(o.Holds.Total != 0, holds(o.Holds)),
		g.Iff(o.Rollouts != nil, func() g.Node { return rollouts(o.Rollouts) }),
		lastRestarts(o),
	}
}

// standby shows who leads, since only the leader knows what is under way.
func standby(o *status.Overview) g.Node {
	leader := g.Group{g.Text("No leader is known yet.")}
	if o.Leader != "" {
		since := ""
		if o.Lease != nil {
			since = ", since " + at(o.Lease.Since)
		}
		leader = g.Group{
			g.Text("The leader is "), h.Code(g.Text(o.Leader)),
			g.Text(since + ". Only the leader knows what is under way: forward the port of that pod instead."),
		}
	}
	return g.Group{h.H1(g.Text("This replica stands by")), gaps(o.Gaps), g.If(o.Lease == nil || o.Lease.IsHeld(o.Time), h.P(leader))}
}

// tile is a number at the top of the overview.
type tile struct {
	Class, Name string
	Count       int
}

// tilesOf returns what needs a person first.
func tilesOf(o *status.Overview) []tile {
	return []tile{
		{"halts", plural("halt", o.Halts.Total), o.Halts.Total},
		{"failed", "failed", o.Failed.Total},
		{"lacking", "lacking", o.Lacking.Total},
		{"retrying", "retrying", o.Retrying.Total},
		{"unready", "unready", o.Unready.Total},
		{"alone", "left alone", o.LeftAlone.Total},
		{"held", "held", o.Held.Total},
		{"fanouts", plural("fan-out", o.FanOuts.Total), o.FanOuts.Total},
		{"rolling", "rolling", o.Rolling.Total},
		{"waiting", "waiting", o.Waiting.Total},
		{"slowed", "slowed", o.Slowed.Total},
		{"pending", "pending", o.Pending.Total},
	}
}

func tiles(o *status.Overview) g.Node {
	return h.Ul(h.Class("tiles"), each(tilesOf(o), func(t *tile) g.Node {
		number := g.Group{h.B(g.Text(count(t.Count))), g.Text(" " + t.Name)}
		switch {
		case t.Count != 0:
			return h.Li(h.Class(t.Class), h.A(h.Href("#"+t.Class), number))
		case len(o.Gaps) == 0:
			return h.Li(h.Class(t.Class+" none"), number)
		}
		return g.Group{}
	}))
}

// totals are not known if there are gaps.
func totals(o *status.Overview) g.Node {
	if len(o.Gaps) > 0 {
		return nil
	}
	isIdle := !slices.ContainsFunc(tilesOf(o), func(t tile) bool { return t.Count > 0 })
	return g.Group{
		g.If(isIdle, h.P(g.Text("Nothing waits or rolls."))),
		note(count(o.Workloads) + " enabled " + plural("workload", o.Workloads) + ", " + count(o.Configs) + " ConfigMaps and Secrets" +
			when(o.Namespace != "", " in all namespaces")),
	}
}

func kind(k *status.Kind) g.Node {
	text := when(k.Missing, ", which is not installed") +
		when(k.Unusable != 0, "; "+strconv.Itoa(k.Unusable)+" enabled but cannot be restarted, see their Events")
	return h.P(h.Class("note"), g.Text("Also watched: "), h.Code(g.Text(k.Workload)), g.Text(text))
}

// workloads shows those that are in one of the states.
func workloads(o *status.Overview, id, title string, list status.List[status.Entry], states ...status.State) g.Node {
	if list.Total == 0 {
		return nil
	}
	return section(id, title, entries(list.Items),
		more(list.More(), g.Text(": "), h.A(h.Href(inState(o.Namespace, "", states...)), g.Text("list all by name"))))
}

func lastRestarts(o *status.Overview) g.Node {
	var since g.Node
	if o.Lease != nil && !o.Lease.Since.IsZero() {
		since = note("Those that this replica has made or followed since it leads, " + at(o.Lease.Since))
	}
	if o.Restarts.Total == 0 {
		return section("restarts", "Last restarts", since, h.P(g.Text("This process has not restarted anything"+after(" in ", o.Namespace)+" yet.")))
	}
	return section("restarts", "Last restarts", since, restarts(o.Restarts))
}
