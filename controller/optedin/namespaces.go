package optedin

import (
	"log/slog"
	"time"

	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// selection is how many of the known Namespaces are selected. The lock of [OptIns] protects it.
type selection struct {
	selected int
	unlisted map[string]struct{} // what is watched and has not been listed yet, by name, empty: all
	isEmpty  bool                // which has been reported
}

func newSelection(namespaces []string) selection {
	s := selection{unlisted: make(map[string]struct{})}
	for _, name := range apiclient.NamespacesOrAll(namespaces) {
		s.unlisted[name] = struct{}{}
	}
	return s
}

// count takes in that a Namespace changed; it is nil before it exists, and after.
func (s *selection) count(before, after *optin.Namespace) {
	if before != nil && before.IsSelected {
		s.selected--
	}
	if after != nil && after.IsSelected {
		s.selected++
	}
}

// report reports once that a selector selects no Namespace, and again if it had selected one meanwhile: a typo in it would
// otherwise look like a cluster in which nothing is enabled.
func (s *selection) report(log *slog.Logger, rules *optin.Rules) {
	if rules.Selector == nil || len(s.unlisted) > 0 {
		return
	}
	if isEmpty := s.selected == 0; isEmpty != s.isEmpty {
		if s.isEmpty = isEmpty; isEmpty {
			log.Warn("the namespace selector selects no namespace, so no workload is enabled", "selector", rules.Selector.String())
		}
	}
}

// TakeNamespace notes a Namespace, and reports whether it says something else about its workloads than before.
func (o *OptIns) TakeNamespace(namespace *optin.Namespace, shown time.Time) bool {
	o.Mu.Lock()
	defer o.Mu.Unlock()
	known := o.Namespaces[namespace.Name]
	if known != nil {
		namespace.Succeed(known, shown)
	}
	o.Namespaces[namespace.Name] = namespace
	o.selection.count(known, namespace)
	return known == nil || known.Choice != namespace.Choice || known.IsSelected != namespace.IsSelected
}

// ForgetNamespace forgets a Namespace that is gone.
func (o *OptIns) ForgetNamespace(name string) {
	o.Mu.Lock()
	defer o.Mu.Unlock()
	o.selection.count(o.Namespaces[name], nil)
	delete(o.Namespaces, name)
}

// KeepNamespaces forgets the Namespaces that a list of all does not have, or, unless it is empty, the only one of that name.
func (o *OptIns) KeepNamespaces(only string, listed map[string]struct{}) {
	o.Mu.Lock()
	defer o.Mu.Unlock()
	for name, namespace := range o.Namespaces {
		if _, isListed := listed[name]; !isListed && (only == "" || only == name) {
			o.selection.count(namespace, nil)
			delete(o.Namespaces, name)
		}
	}
	delete(o.selection.unlisted, only)
}

// ReportSelection reports once that the selector of Namespaces selects none.
func (o *OptIns) ReportSelection(log *slog.Logger) {
	o.Mu.Lock()
	defer o.Mu.Unlock()
	o.selection.report(log, &o.Rules)
}
