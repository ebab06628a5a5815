package statuspage

import (
	"fmt"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"kubernetes-deployment-restart-controller/internal/status"
)

func table(class string, heads []string, rows g.Node) g.Node {
	return h.Table(h.Class(class), h.THead(h.Tr(each(heads, func(head *string) g.Node { return h.Th(g.Text(*head)) }))), h.TBody(rows))
}

// row is a row of a table. Narrow screens show the labels beside the cells.
func row(labels []string, cells ...g.Node) g.Node {
	row := make(g.Group, len(cells))
	for i, cell := range cells {
		row[i] = h.Td(h.Data("label", labels[i]), cell)
	}
	return h.Tr(row)
}

// wide is a cell with a picture.
func wide(picture g.Node) g.Node { return g.Group{h.Class("wide"), picture} }

func entries(all []status.Entry) g.Node {
	heads := []string{"Workload", "State", "Why", "Since", "Until"}
	return table("entries", heads, each(all, func(e *status.Entry) g.Node {
		why := g.Group{wait(e)}
		if p := e.Pods; p != nil {
			why = append(why, beside(fmt.Sprintf("%d of %d pods updated, %d available", p.Updated, p.Wanted, p.Available)))
		}
		return row(heads, workloadLink(e.Workload), stateOf(e.State), why, g.Text(began(e.Beginning)), g.Text(at(e.Until)))
	}))
}

func fanOuts(all status.List[status.FanOut]) g.Node {
	heads := []string{"Config", "How far", "Delivered", "Rolling", "Waiting", "Since"}
	rows := each(all.Items, func(f *status.FanOut) g.Node {
		waiting := g.Group{g.Text(count(f.Waiting)), g.If(f.Unserved != 0, beside(count(f.Unserved)+" failed or not needed"))}
		return row(heads, configLink(f.Config), wide(barOf(fanOutBar(*f))), g.Text(count(f.Delivered)+" of "+count(f.Total)),
			g.Text(count(f.Rolling)), waiting, g.Text(began(f.Beginning)))
	})
	return g.Group{table("fanouts", heads, rows), legend(fanOutLegend), more(all.More())}
}

func halts(all status.List[status.Halt]) g.Node {
	return g.Group{each(all.Items, halt), more(all.More())}
}

func halt(halt *status.Halt) g.Node {
	said := g.Group{g.Text(when(len(halt.Keys) > 0, "Keys "+strings.Join(halt.Keys, ", ")+": "))}
	for i, name := range halt.Failed {
		said = append(said, g.Text(when(i > 0, ", ")), workloadLink(name))
	}
	others := ""
	switch {
	case halt.Held == 1:
		others = ", so 1 other waits"
	case halt.Held != 0:
		others = ", so " + count(halt.Held) + " others wait"
	}
	said = append(said, g.Text(" failed, halted "+ago(halt.Since)+others+". "))
	revert := g.Text("Revert the change. To let the others restart nevertheless:")
	if halt.Command == "" {
		said = g.Group{h.P(said, revert)}
	} else {
		said = g.Group{h.P(said, g.Text("See why:")), command(halt.Command), h.P(revert)}
	}
	return h.Div(h.Class("card bad"), h.H3(configLink(halt.Config)), said, command(halt.Resume))
}

func mistakes(all status.List[status.Mistake]) g.Node {
	heads := []string{"Object", "Problem", "Since"}
	rows := each(all.Items, func(m *status.Mistake) g.Node {
		return row(heads, g.Text(m.Object), g.Text(m.Problem), g.Text(began(m.Beginning)))
	})
	return g.Group{table("mistakes", heads, rows), more(all.More())}
}

func holds(all status.List[status.Hold]) g.Node {
	heads := []string{"On hold", "Why", "Since"}
	rows := each(all.Items, func(hold *status.Hold) g.Node {
		on := workloadLink
		if hold.IsConfig {
			on = configLink
		}
		why := g.Group{g.Text(hold.Text), g.If(hold.Release != "", command(hold.Release))}
		return row(heads, on(hold.On), why, g.Text(began(hold.Beginning)))
	})
	return section("holds", "Holds", table("holds", heads, rows), more(all.More()))
}

func restarts(all status.List[status.Restart]) g.Node {
	heads := []string{"Time", "Workload", "Because of", "Outcome"}
	rows := each(all.Items, func(r *status.Restart) g.Node {
		return row(heads, g.Text(at(r.Time)), workloadLink(r.Workload), g.Text(r.Cause), outcome(r))
	})
	return g.Group{table("restarts", heads, rows), more(all.More())}
}

// restartsFor shows who restarted when for a config.
func restartsFor(c *status.Config) g.Node {
	t := timelineOf(c.Restarts.Items, time.Now().UTC())
	heads := []string{"Workload", "When", "Began", "Outcome"}
	rows := each(t.Rows, func(r *timelineRow) g.Node {
		return row(heads, workloadLink(r.Workload), wide(barOf(r.Bar)), g.Text(at(r.Time)), outcome(&r.Restart))
	})
	return section("restarts", "Who restarted when",
		note("From "+at(t.From)+" to "+at(t.To)+when(c.MissesRestarts, "; restarts that ended under a former leader are not known")+
			"; one for more than 10 configs is listed for the first 10 only"),
		table("timeline", heads, rows),
		legend(timelineLegend),
		more(c.Restarts.More(), g.Text(": see the "), h.A(h.Href("#readers"), g.Text("workloads that read it"))),
	)
}

func rollouts(r *status.Rollouts) g.Node {
	return section("rollouts", "Rollouts of the deployment engine",
		h.P(g.Text(r.Detail)),
		each(r.Rolling.Items, rollout),
		g.If(len(r.Rolling.Items) > 0, legend(rolloutLegend)),
		more(r.Rolling.More()),
	)
}

func rollout(r *status.Rollout) g.Node {
	side := func(name string, pods status.Replicas, sets string) g.Node {
		numbers := g.Textf("%d of %d available, %d wanted%s", pods.Available, pods.Present, pods.Wanted, sets)
		return g.Group{fact(name, barOf(replicasBar(pods, *r))), h.Dd(numbers)}
	}
	return h.Div(h.Class("card"),
		h.H3(g.Text(r.Deployment), beside(fmt.Sprintf("%s, %d %s wanted", r.Strategy, r.Wanted, plural("pod", r.Wanted)))),
		h.Dl(h.Class("bars"), side("new", r.New, ""), side("old", r.Old, when(r.Old.Sets > 1, fmt.Sprintf(", %d ReplicaSets", r.Old.Sets)))),
		g.If(r.Problem != "", h.P(h.Class("bad"), g.Text(r.Problem))),
		g.If(r.Waits != "", h.P(g.Text(r.Waits))),
	)
}
