// Writes cases of Go's fmt.Sprintf, one JSON object a line: go run make.go [COUNT] > cases.jsonl
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand"
	"os"
	"strconv"
)

func main() {
	count := 2000
	if len(os.Args) > 1 {
		count, _ = strconv.Atoi(os.Args[1])
	}
	random := rand.New(rand.NewSource(1))
	flags := []string{"", "", "", "-", "0", "+", " ", "#", "-0", "+0", "0 ", "#0", "#-", "+#", "+ #", "# "}
	widths := []string{"", "", "2", "5", "12", "*", "[2]*", "999999999"}
	precisions := []string{"", "", "", ".", ".0", ".1", ".3", ".12", ".*"}
	verbs := []string{"v", "v", "d", "d", "s", "s", "q", "x", "X", "o", "b", "O", "c", "U", "e", "E", "f", "F", "g", "G", "t", "T", "%", "z", "w", "é", "[1]d", "[9]d", "[x]d", "[2]s", "!"}
	values := []any{0, 1, 7, -42, 1234567, math.MaxInt64, math.MinInt64, 0x1f600, 65, -1, 0xe000, "", "abc", "10de", "tab\t\"q\"`", "b`c", "müller", "日本", "a\u00ad\u200b\u0001\u00a0", "12", true, false, 0.0, 1.5, -2.25, 1e6, 123456789.0, 1e-7, 1e21, 3.14159, 100.0, 0.1, 1e300, 5e-324, nil,
		[]any{"a", 1, true, nil, 2.5}, []any{}, []string{"x", "y z"}, map[string]string{"class": "0302", "vendor": "10de"}}
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	pick := func(list []string) string { return list[random.Intn(len(list))] }
	for i := 0; i < count; i++ {
		format := "<%" + pick(flags) + pick(widths) + pick(precisions) + pick(verbs) + ">"
		for n := random.Intn(6); n > 4; n-- {
			format += " %" + pick(flags) + pick(widths) + pick(verbs)
		}
		arguments := []any{}
		for n := random.Intn(3); n >= 0; n-- {
			arguments = append(arguments, values[random.Intn(len(values))])
		}
		text := fmt.Sprintf(format, arguments...)
		if len(text) < 4096 {
			out.Encode(map[string]any{"format": format, "arguments": jsonOf(arguments), "text": text})
		}
	}
}

// A float has a point or an exponent.
func jsonOf(values []any) []json.RawMessage {
	list := []json.RawMessage{}
	for _, value := range values {
		text, _ := json.Marshal(value)
		if number, ok := value.(float64); ok && number == math.Trunc(number) && math.Abs(number) < 1e20 {
			text = append(text, ".0"...)
		}
		if many, ok := value.([]any); ok {
			text, _ = json.Marshal(jsonOf(many))
		}
		list = append(list, text)
	}
	return list
}
