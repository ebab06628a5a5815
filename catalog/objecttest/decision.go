package objecttest

type Data = map[string]string
