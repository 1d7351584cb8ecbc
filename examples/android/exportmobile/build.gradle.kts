// Texts to labels, in Java 8: no native code, no dependency but LiteRT.
plugins {
    alias(libs.plugins.android.library)
}

android {
    namespace = "exportmobile.library"
    compileSdk = 36

    defaultConfig {
        // What LiteRT 2.1 needs.
        minSdk = 23
    }

    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_1_8
        targetCompatibility = JavaVersion.VERSION_1_8
    }
}

dependencies {
    api(libs.litert)
    testImplementation(libs.junit)
}
