package catalogtest

import "kubernetes-deployment-restart-controller/catalog/template"

// AllBut selects all keys but some, sorted.
func AllBut(hidden ...string) template.Selection {
	s := template.Selection{ByRules: true}
	for _, key := range hidden {
		s.Names = append(s.Names, "-"+key)
	}
	return s
}
