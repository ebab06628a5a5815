package statuspage

import (
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"kubernetes-deployment-restart-controller/internal/status"
)

func configPage(c *status.Config) g.Node {
	exists := existence(c.Exists)
	keys := strconv.Itoa(c.KeyCount) + when(len(c.Keys) > 0, ": "+strings.Join(c.Keys, ", ")+when(len(c.Keys) < c.KeyCount, ", …"))
	fanOut := "all at once"
	if c.Gradual {
		fanOut = "gradual"
	}
	return g.Group{
		h.H1(g.Text(c.Name)),
		gaps(c.Gaps),
		g.If(exists == "no", badCard("It does not exist, or is gone.")),
		g.If(exists == "not known", badCard("It is not known whether it exists: the controller cannot see all of its kind.")),
		g.Iff(c.Mistake != nil, func() g.Node { return badCard(mistake(c.Mistake)) }),
		g.If(c.Ignored, h.P(h.Class("card"), g.Text("Its changes restart nobody: it is ignored."))),
		g.If(c.Hold != "", badCard("Its new content is held: "+c.Hold)),
		h.Dl(
			g.If(c.Content != "", fact("Content", h.Code(g.Text(c.Content)))),
			g.If(exists == "yes", fact("Keys", g.Text(keys))),
			fact("Fan-out", g.Text(fanOut)),
			g.If(c.Window != "", fact("Window", h.Code(g.Text(c.Window)))),
			g.If(c.SharedWith != "", fact("Shared with", h.Code(g.Text(c.SharedWith)))),
		),
		g.If(c.Halts.Total != 0, section("halts", "Halts", halts(c.Halts))),
		g.If(c.FanOuts.Total != 0, section("fanouts", "Fan-outs", fanOuts(c.FanOuts))),
		section("readers", "Workloads that read it: "+count(c.Readers.Total),
			readers(c),
			g.If(c.SharedWith != "", note("It is shared with other namespaces. Their workloads are not listed here.")),
		),
		g.Iff(c.Restarts.Total != 0, func() g.Node { return restartsFor(c) }),
	}
}

func readers(c *status.Config) g.Node {
	if c.Readers.Total == 0 {
		return h.P(g.Text("No enabled workload" + when(c.SharedWith != "", " of its namespace") + " reads it."))
	}
	picture := readersGrid(c.States)
	return g.Group{
		gridOf(picture),
		legend(picture.Legend),
		g.If(picture.Each > 1, note("Each square stands for "+strconv.Itoa(picture.Each)+" workloads.")),
		entries(c.Readers.Items),
		more(c.Readers.More()),
	}
}
