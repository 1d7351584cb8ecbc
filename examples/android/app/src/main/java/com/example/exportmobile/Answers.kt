package com.example.exportmobile

import exportmobile.QuestionAnswerer
import exportmobile.TextClassifier
import exportmobile.TextModel
import exportmobile.WordTagger
import java.util.Locale

/** What the models of an app say, as lines for the screen. */
object Answers {
    private const val TOP = 5
    private const val PAIR = " ||| "

    /** A pair of texts, or a question and its passage, is written with ` ||| ` between them. */
    fun of(model: TextModel, text: String): String {
        val first = text.substringBefore(PAIR)
        val second = text.substringAfter(PAIR, "").ifEmpty { null }
        return when (model) {
            is WordTagger -> model.tag(text).joinToString("\n") { "${it.text}\t${it.label ?: "-"}" }
            is QuestionAnswerer -> model.answer(first, second ?: "")?.text ?: "-"
            is TextClassifier -> classified(model, first, second)
            else -> model.file()
        }
    }

    fun selfTest(model: TextModel): String {
        val result = model.selfTest()
        return (listOf(result.toString()) + result.failures).joinToString("\n")
    }

    private fun classified(model: TextClassifier, text: String, pair: String?): String {
        if (model.isRegression) return number(model.score(text, pair))
        return model.classify(text, pair, TOP).joinToString("\n") { "${it.name}\t${number(it.probability)}" }
    }

    private fun number(value: Float) = String.format(Locale.ROOT, "%.3f", value)
}
