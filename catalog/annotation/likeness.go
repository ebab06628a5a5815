package annotation

// MaxCompared is how many mistakes of one workload are compared with all annotations, and how many of the configs that it
// reads are compared with a name that is mistyped.
const MaxCompared = 100

// LongestCompared is how many bytes of a name are compared with those of the controller's annotations.
const LongestCompared = 2 * len(ChecksumsAnnotation)

// Distance returns how many letters must be inserted, deleted, replaced or swapped with the next one to make one text of
// another.
func Distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replaced := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			rows[i][j] = min(replaced, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
