#!/usr/bin/env perl
# Writes unicode_tables.h and unicode_tables.py of the projection op from Perl's own copy of the
# Unicode database, so that every implementation has the same tables whatever its runtime knows.
#
#   perl tools/generate_unicode_tables.pl models_tf/ops/projection
#
# Two properties: Simple_Lowercase_Mapping (1:1; U+0130 -> U+0069) and Alphabetic. The Unicode version
# is that of the Perl that runs this (14.0.0 with Perl 5.36) and stands in both files; a newer one
# changes features of newly cased letters, so it needs new golden vectors and a line in the CHANGELOG.
use strict;
use warnings;
use Unicode::UCD qw(prop_invmap);

my $folder = shift or die "usage: $0 FOLDER\n";
my $version = Unicode::UCD::UnicodeVersion();

# Letters of one delta at steps of 1 or 2 make one range: first, last, step, delta.
sub lower_case_ranges {
    my ($starts, $map, $format) = prop_invmap("Simple_Lowercase_Mapping");
    die "unexpected format $format\n" unless $format eq "a";
    my @pairs;
    for my $i (0 .. $#$starts) {
        next if $map->[$i] == 0;
        my $end = $i < $#$starts ? $starts->[$i + 1] - 1 : 0x10FFFF;
        push @pairs, [$_, $map->[$i] - $starts->[$i]] for $starts->[$i] .. $end;
    }
    my @ranges;
    for my $pair (@pairs) {
        my ($code, $delta) = @$pair;
        my $range = @ranges ? $ranges[-1] : undef;
        if ($range && $range->{delta} == $delta) {
            my $step = $code - $range->{last};
            if ($step <= 2 && ($range->{first} == $range->{last} || $step == $range->{step})) {
                @$range{qw(last step)} = ($code, $step);
                next;
            }
        }
        push @ranges, {first => $code, last => $code, step => 1, delta => $delta};
    }
    return @ranges;
}

sub alphabetic_ranges {
    my ($starts, $map) = prop_invmap("Alphabetic");
    my @ranges;
    for my $i (0 .. $#$starts) {
        next if $map->[$i] ne "Y";
        push @ranges, [$starts->[$i], $i < $#$starts ? $starts->[$i + 1] - 1 : 0x10FFFF];
    }
    return @ranges;
}

sub rows {    # as many cells on a line as fit in 96 columns
    my ($indent, @cells) = @_;
    my ($text, $line) = ("", "");
    for my $cell (@cells) {
        if (length("$indent$line$cell,") > 96) { $text .= "$indent$line\n"; $line = ""; }
        $line .= ($line eq "" ? "" : " ") . "$cell,";
    }
    return "$text$indent$line\n";
}

my @lower = lower_case_ranges();
my @alphabetic = alphabetic_ranges();
my $origin = "Unicode $version; written by tools/generate_unicode_tables.pl, do not edit.";

open my $header, ">", "$folder/unicode_tables.h" or die "$folder/unicode_tables.h: $!\n";
print $header <<"END";
// Lower-casing and the Alphabetic property.
// $origin
// clang-format off
#ifndef EXPORT_MOBILE_UNICODE_TABLES_H_
#define EXPORT_MOBILE_UNICODE_TABLES_H_

#include <cstdint>

namespace export_mobile {

// Every `step`-th code point of first..last becomes itself + delta; the others stay.
struct CaseRange {
  uint32_t first;
  uint32_t last;
  uint32_t step;
  int32_t delta;
};

struct CodeRange {
  uint32_t first;
  uint32_t last;
};

constexpr CaseRange kLowerCase[] = {
END
print $header rows("    ", map { sprintf "{0x%X, 0x%X, %d, %d}", @$_{qw(first last step delta)} } @lower);
print $header "};\n\nconstexpr CodeRange kAlphabetic[] = {\n";
print $header rows("    ", map { sprintf "{0x%X, 0x%X}", @$_ } @alphabetic);
print $header "};\n\n}  // namespace export_mobile\n\n#endif  // EXPORT_MOBILE_UNICODE_TABLES_H_\n";
close $header or die "$folder/unicode_tables.h: $!\n";

open my $module, ">", "$folder/unicode_tables.py" or die "$folder/unicode_tables.py: $!\n";
print $module <<"END";
"""Lower-casing and the Alphabetic property.

$origin
"""

# fmt: off
UNICODE_VERSION = "$version"

# (first, last, step, delta): every `step`-th code point of first..last becomes itself + delta.
LOWER_CASE = (
END
print $module rows("    ", map { sprintf "(0x%X, 0x%X, %d, %d)", @$_{qw(first last step delta)} } @lower);
print $module ")\n\n# Pairs of first and last.\nALPHABETIC = (\n";
print $module rows("    ", map { sprintf "(0x%X, 0x%X)", @$_ } @alphabetic);
print $module ")\n";
close $module or die "$folder/unicode_tables.py: $!\n";
