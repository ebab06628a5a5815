package dialect_test

import (
	"testing"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/optin"
)

func TestReloadersAnnotationsSayWhatTheySayToReloader(t *testing.T) {
	for name, test := range map[string]struct {
		own, template objecttest.Annotations
		byDefault     bool
		want          objecttest.Understood
	}{
		"nothing":                     {},
		"auto":                        {own: objecttest.Annotations{objecttest.Auto: "true"}, want: objecttest.Understood{Choice: annotation.OptsIn}},
		"auto in another spelling":    {own: objecttest.Annotations{objecttest.Auto: "1"}, want: objecttest.Understood{Choice: annotation.OptsIn}},
		"auto that is no truth value": {own: objecttest.Annotations{objecttest.Auto: "yes"}, want: objecttest.Understood{Choice: annotation.OptsOut}},
		"auto on the pod template":    {template: objecttest.Annotations{objecttest.Auto: "true"}, want: objecttest.Understood{Choice: annotation.OptsIn}},
		"the workload before the template": {
			own: objecttest.Annotations{objecttest.Auto: "false"}, template: objecttest.Annotations{objecttest.Auto: "true"}, want: objecttest.Understood{Choice: annotation.OptsOut},
		},
		"each kind from where it is said": {
			own: objecttest.Annotations{objecttest.ConfigMapNamed: "a"}, template: objecttest.Annotations{objecttest.SecretAuto: "true"},
			want: objecttest.Understood{Choice: annotation.OptsIn, Only: "configmap/a,secret/*", Also: "configmap/a"},
		},
		"ConfigMaps only": {own: objecttest.Annotations{objecttest.ConfigMapAuto: "true"}, want: objecttest.Understood{Choice: annotation.OptsIn, Only: "configmap/*"}},
		"Secrets only":    {own: objecttest.Annotations{objecttest.SecretAuto: "true"}, want: objecttest.Understood{Choice: annotation.OptsIn, Only: "secret/*"}},
		"both kinds":      {own: objecttest.Annotations{objecttest.ConfigMapAuto: "true", objecttest.SecretAuto: "true"}, want: objecttest.Understood{Choice: annotation.OptsIn}},
		"auto for one kind although not for all": {
			own: objecttest.Annotations{objecttest.Auto: "false", objecttest.SecretAuto: "true"}, want: objecttest.Understood{Choice: annotation.OptsIn, Only: "secret/*"},
		},
		"named": {
			own:  objecttest.Annotations{objecttest.ConfigMapNamed: " a, b.c ,", objecttest.SecretNamed: "s"},
			want: objecttest.Understood{Choice: annotation.OptsIn, Only: "configmap/a,configmap/b.c,secret/s", Also: "configmap/a,configmap/b.c,secret/s"},
		},
		"named on the pod template": {template: objecttest.Annotations{objecttest.SecretNamed: "s"}, want: objecttest.Understood{Choice: annotation.OptsIn, Only: "secret/s", Also: "secret/s"}},
		"named besides all of its kind": {
			own: objecttest.Annotations{objecttest.Auto: "true", objecttest.ConfigMapNamed: "a"}, want: objecttest.Understood{Choice: annotation.OptsIn, Also: "configmap/a"},
		},
		"named although not all": {
			own: objecttest.Annotations{objecttest.Auto: "false", objecttest.ConfigMapNamed: "a"}, want: objecttest.Understood{Choice: annotation.OptsIn, Only: "configmap/a", Also: "configmap/a"},
		},
		"marked":                      {own: objecttest.Annotations{objecttest.Search: "true"}, want: objecttest.Understood{Choice: annotation.OptsIn, Marked: names.BothKinds}},
		"marked, on the pod template": {template: objecttest.Annotations{objecttest.Search: "true"}, want: objecttest.Understood{Choice: annotation.OptsIn, Marked: names.BothKinds}},
		"marked on the pod template, but only where the workload says nothing": {
			own: objecttest.Annotations{objecttest.SecretAuto: "false"}, template: objecttest.Annotations{objecttest.Search: "true"}, want: objecttest.Understood{Choice: annotation.OptsIn, Marked: 1 << names.ConfigMap},
		},
		"marked on the pod template, and named by the workload": {
			own: objecttest.Annotations{objecttest.ConfigMapNamed: "a"}, template: objecttest.Annotations{objecttest.Search: "true"},
			want: objecttest.Understood{Choice: annotation.OptsIn, Only: "configmap/a", Also: "configmap/a", Marked: 1 << names.Secret},
		},
		"marked, in another spelling": {own: objecttest.Annotations{objecttest.Search: "1"}},
		"everything, whether marked":  {own: objecttest.Annotations{objecttest.Search: "true", objecttest.Auto: "true"}, want: objecttest.Understood{Choice: annotation.OptsIn}},
		"marked, or of one kind":      {own: objecttest.Annotations{objecttest.Search: "true", objecttest.SecretAuto: "true"}, want: objecttest.Understood{Choice: annotation.OptsIn, Only: "secret/*", Marked: names.BothKinds}},
		"marked, or named":            {own: objecttest.Annotations{objecttest.Search: "true", objecttest.ConfigMapNamed: "a,b.*"}, want: objecttest.Understood{Choice: annotation.OptsIn, Only: "configmap/a,configmap/b*", Also: "configmap/a", Marked: names.BothKinds}},
		"marked, but all by default":  {byDefault: true, own: objecttest.Annotations{objecttest.Search: "true"}, want: objecttest.Understood{Choice: annotation.OptsIn}},
		"an empty list":               {own: objecttest.Annotations{objecttest.ConfigMapNamed: " , "}},
		"patterns": {
			own:  objecttest.Annotations{objecttest.ConfigMapNamed: "app-.*, .*-tls, web.+, ^x|y$"},
			want: objecttest.Understood{Choice: annotation.OptsIn, Only: "configmap/*-tls,configmap/app-*,configmap/web?*,configmap/x,configmap/y", Also: "configmap/x,configmap/y"},
		},
		"a pattern that globs cannot express": {
			own: objecttest.Annotations{objecttest.ConfigMapNamed: "app-[0-9]+,a"},
			want: objecttest.Understood{
				Choice: annotation.OptsIn, Only: "configmap/*,configmap/a", Also: "configmap/a",
				Problem: `annotation configmap.reloader.stakater.com/reload: cannot use the pattern "app-[0-9]+": of regular expressions, only .*, .+ and a|b can be used; everything of this kind counts that the containers read`,
			},
		},
		"excluded": {
			own:  objecttest.Annotations{objecttest.Auto: "true", objecttest.ConfigMapExcluded: "a,b", objecttest.SecretExcluded: "s"},
			want: objecttest.Understood{Choice: annotation.OptsIn, Ignore: "configmap/a,configmap/b,secret/s"},
		},
		"excluded by a pattern, which Reloader does not know": {
			own:  objecttest.Annotations{objecttest.Auto: "true", objecttest.ConfigMapExcluded: "a.*"},
			want: objecttest.Understood{Choice: annotation.OptsIn, Problem: `annotation configmaps.exclude.reloader.stakater.com/reload: cannot use the name "a.*": it is a pattern, not a name, so it is not excluded`},
		},
		"only the workload excludes": {template: objecttest.Annotations{objecttest.Auto: "true", objecttest.ConfigMapExcluded: "a"}, want: objecttest.Understood{Choice: annotation.OptsIn}},
		"a pause":                    {own: objecttest.Annotations{objecttest.Auto: "true", objecttest.PausePeriod: "5m"}, want: objecttest.Understood{Choice: annotation.OptsIn, Grace: "5m"}},
		"a pause that is no time": {
			own:  objecttest.Annotations{objecttest.Auto: "true", objecttest.PausePeriod: "5 minutes"},
			want: objecttest.Understood{Choice: annotation.OptsIn, Problem: `annotation deployment.reloader.stakater.com/pause-period: "5 minutes" is not a duration such as 90s, 2m or 1h30m, so it counts as absent`},
		},
		"a pause of more than a day": {
			own:  objecttest.Annotations{objecttest.Auto: "true", objecttest.PausePeriod: "30h"},
			want: objecttest.Understood{Choice: annotation.OptsIn, Grace: "24h0m0s", Problem: `annotation deployment.reloader.stakater.com/pause-period: "30h" is longer than a day; 24h0m0s is used instead`},
		},
		"all by default":                        {byDefault: true, own: objecttest.Annotations{objecttest.ConfigMapNamed: "a"}, want: objecttest.Understood{Choice: annotation.OptsIn, Also: "configmap/a"}},
		"all by default but one kind":           {byDefault: true, own: objecttest.Annotations{objecttest.SecretAuto: "false"}, want: objecttest.Understood{Ignore: "secret/*"}},
		"all by default but an opt-out":         {byDefault: true, own: objecttest.Annotations{objecttest.Auto: "false"}, want: objecttest.Understood{Choice: annotation.OptsOut}},
		"all by default but an excluded one":    {byDefault: true, own: objecttest.Annotations{objecttest.ConfigMapExcluded: "a"}, want: objecttest.Understood{Ignore: "configmap/a"}},
		"one kind by default, names of another": {byDefault: true, own: objecttest.Annotations{objecttest.ConfigMapAuto: "false", objecttest.ConfigMapNamed: "a"}, want: objecttest.Understood{Choice: annotation.OptsIn, Only: "configmap/a,secret/*", Also: "configmap/a"}},
		"its own choice":                        {own: objecttest.Annotations{annotation.EnabledAnnotation: "disabled", objecttest.Auto: "true"}, want: objecttest.Understood{Choice: annotation.OptsOut}},
		"its own choice to count":               {own: objecttest.Annotations{annotation.EnabledAnnotation: annotation.Enabled, objecttest.Auto: "false"}, want: objecttest.Understood{Choice: annotation.OptsIn}},
		"its own filter": {
			own:  objecttest.Annotations{annotation.IgnoreAnnotation: "configmap/x", objecttest.Search: "true", objecttest.ConfigMapNamed: "a", objecttest.ConfigMapExcluded: "b"},
			want: objecttest.Understood{Choice: annotation.OptsIn, Ignore: "configmap/x"},
		},
		"its own grace period": {own: objecttest.Annotations{objecttest.Auto: "true", objecttest.PausePeriod: "5m", annotation.GracePeriodAnnotation: "1s"}, want: objecttest.Understood{Choice: annotation.OptsIn, Grace: "1s"}},
		"what wave says":       {own: objecttest.Annotations{objecttest.WaveOptIn: "true"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := catalogtest.UnderstandDeployment(&optin.Rules{ByDefault: test.byDefault, Dialects: []optin.Dialect{optin.Reloader}}, test.own, test.template)
			if got != test.want {
				t.Errorf("understood\n%+v, want\n%+v", got, test.want)
			}
		})
	}
}
