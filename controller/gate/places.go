package gate

import "kubernetes-deployment-restart-controller/internal/counts"

// places counts the restarts that are under way, by namespace, and lets those wait in turn for whom no
// place is free. One that waited for a place and should ask again counts, too.
type places struct {
	taken int
	in    counts.By[string] // those that are taken, by namespace
	lines map[string]*line
	turns []string // the namespaces with lines
}

func newPlaces() places {
	return places{in: make(counts.By[string]), lines: make(map[string]*line)}
}

func (p *places) take(namespace string, sign int) {
	p.taken += sign
	p.in.Add(namespace, sign)
}

func (p *places) lineOf(namespace string) *line {
	if p.lines[namespace] == nil {
		p.lines[namespace] = &line{}
		p.turns = append(p.turns, namespace)
	}
	return p.lines[namespace]
}

// callPlaces calls one restart for each free place, in turns by namespace.
func (l *Ledger) callPlaces() {
	p := &l.places
	for skipped := 0; skipped < len(p.turns) && p.taken < l.policy.Limit; {
		namespace := p.turns[0]
		if !hasPlace(l.policy.Limit-p.taken, p.in[namespace]) {
			p.turns = append(p.turns[1:], namespace)
			skipped++
			continue
		}
		if r := p.lines[namespace].next(); r != nil {
			p.turns = append(p.turns[1:], namespace)
			l.call(r)
			continue
		}
		p.turns = p.turns[1:]
		delete(p.lines, namespace)
	}
}
