package gloss

import (
	"strings"
	"unicode/utf8"
)

var months = [...]string{
	"january", "february", "march", "april", "may", "june", "july",
	"august", "september", "october", "november", "december",
}

// englishDates puts the dates of a simplified Chinese text to English:
// 2024年5月3日 becomes " may 3, 2024 ", 5月3号 " may 3 ", 2024年 " 2024 ".
// Digits may be full-width. What is no date stays as it is.
func englishDates(s string) string {
	if !strings.Contains(s, "年") && !strings.Contains(s, "月") {
		return s
	}
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); {
		if digits, _ := leadingNumber(s[i:]); digits == 0 {
			i++
			continue
		}
		english, size := date(s[i:])
		if size == 0 {
			for { // past the whole number: a date does not begin inside one
				digit, n := leadingDigit(s[i:])
				if digit < 0 {
					break
				}
				i += n
			}
			continue
		}
		b.WriteString(s[done:i])
		b.WriteByte(' ')
		b.WriteString(english)
		b.WriteByte(' ')
		i += size
		done = i
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// date reads a date at the start of s and returns it in English with the
// number of bytes read, 0 if there is none.
func date(s string) (english string, size int) {
	year, month, day := "", "", ""
	at := 0
	part := func(minDigits, maxDigits int, units ...string) string {
		digits, n := leadingNumber(s[at:])
		if digits < minDigits || digits > maxDigits {
			return ""
		}
		for _, unit := range units {
			if strings.HasPrefix(s[at+n:], unit) {
				number := asciiDigits(s[at : at+n])
				at += n + len(unit)
				return number
			}
		}
		return ""
	}
	year = part(4, 4, "年")
	before := at
	if month = monthName(part(1, 2, "月")); month == "" {
		at = before
	} else {
		day = part(1, 2, "日", "号")
	}
	switch {
	case day != "" && year != "":
		return month + " " + day + ", " + year, at
	case day != "":
		return month + " " + day, at
	case month != "" && year != "":
		return month + " " + year, at
	case month != "":
		return month, at
	case year != "":
		return year, at
	}
	return "", 0
}

func monthName(number string) string {
	n := 0
	for _, c := range []byte(number) {
		n = 10*n + int(c-'0')
	}
	if n < 1 || n > len(months) {
		return ""
	}
	return months[n-1]
}

// leadingNumber counts the digits at the start of s, at most five, and their bytes.
func leadingNumber(s string) (digits, size int) {
	for digits < 5 {
		d, n := leadingDigit(s[size:])
		if d < 0 {
			break
		}
		digits++
		size += n
	}
	return digits, size
}

// leadingDigit is the value of the ASCII or full-width digit s begins with and
// its length in bytes, or -1.
func leadingDigit(s string) (value, size int) {
	if s == "" {
		return -1, 0
	}
	if c := s[0]; c >= '0' && c <= '9' {
		return int(c - '0'), 1
	}
	if r, n := utf8.DecodeRuneInString(s); r >= '０' && r <= '９' {
		return int(r - '０'), n
	}
	return -1, 0
}

func asciiDigits(s string) string {
	var b []byte
	for s != "" {
		d, n := leadingDigit(s)
		b = append(b, byte('0'+d))
		s = s[n:]
	}
	return string(b)
}
